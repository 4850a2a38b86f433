"""A web server: `python3 own-server.py ADDRESS PORT`. Each request takes two milliseconds."""

import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n"


class Handler(BaseHTTPRequestHandler):
    """Sends the same answer to every GET."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Send the answer in one write, so that no packet waits for another."""
        time.sleep(0.002)
        self.wfile.write(ANSWER)

    def log_request(self, *_: object) -> None:
        """Log nothing: writing a line for each request would be measured, too."""


ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Handler).serve_forever()
