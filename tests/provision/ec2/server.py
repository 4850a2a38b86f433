"""moto's EC2 server on a loopback port, and before it a gate that can refuse, delay and answer by itself.

Run as a program: `server.py FOLDER`. It writes its port to FOLDER/port, every request to FOLDER/requests, and
reads FOLDER/script.json anew for each request:

    {"refuse": [{"action": …, "type": …, "code": …, "message": …, "status": 400, "times": 1}],
     "delay": {"RunInstances": 1.5}, "answer": {"GetConsoleOutput": "<xml…"}}
"""

from __future__ import annotations

import base64
import io
import json
import sys
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

FAULT = (
    "<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors>"
    "<RequestID>r-1</RequestID></Response>"
)


class Gate:
    """WSGI around moto."""

    def __init__(self, inner: Callable[..., Iterable[bytes]], folder: Path) -> None:
        self.inner, self.folder = inner, folder
        self.refused: dict[str, int] = {}
        self.lock = threading.Lock()

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        if environ["PATH_INFO"].startswith("/moto-api"):
            self.refused.clear()
            return self.inner(environ, start)
        target = environ.get("HTTP_X_AMZ_TARGET", "")
        words = {} if target else dict(urllib.parse.parse_qsl(body.decode()))
        action = target.rpartition(".")[2] or words.get("Action", "")
        script = json.loads((self.folder / "script.json").read_text())
        with self.lock, (self.folder / "requests").open("a") as log:
            print(json.dumps({"action": action, **words}), file=log)
        if action == "ImportKeyPair":  # as cloud-init would do
            with (self.folder / "authorized").open("ab") as file:
                file.write(base64.b64decode(words["PublicKeyMaterial"]) + b"\n")
        return self.answer(action, words, script, environ, start)

    def answer(
        self, action: str, words: dict[str, str], script: Any, environ: Any, start: Callable[..., Any]
    ) -> Iterable[bytes]:
        time.sleep(script.get("delay", {}).get(action, 0))
        for number, fault in enumerate(script.get("refuse", ())):
            if self.meant(str(number), fault, action, words):
                return self.refuse(fault, environ, start)
        if action in script.get("answer", {}):
            return said(start, "200 OK", script["answer"][action])
        return self.inner(environ, start)

    def meant(self, key: str, fault: dict[str, Any], action: str, words: dict[str, str]) -> bool:
        if fault["action"] != action or fault.get("type") not in (None, words.get("InstanceType")):
            return False
        with self.lock:
            self.refused[key] = self.refused.get(key, 0) + 1
            return self.refused[key] <= fault.get("times", 10**6)

    def refuse(self, fault: dict[str, Any], environ: Any, start: Callable[..., Any]) -> Iterable[bytes]:
        if fault.get("after"):  # it is done, and then not said
            list(self.inner(environ, lambda *_: lambda _: None))
        return said(start, f"{fault.get('status', 400)} No", FAULT.format(**{"message": "", **fault}))


def said(start: Callable[..., Any], status: str, text: str) -> Iterable[bytes]:
    start(status, [("Content-Type", "application/json" if text.startswith("{") else "text/xml")])
    return [text.encode()]


def main(folder: Path) -> None:
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    app = Gate(DomainDispatcherApplication(create_backend_app), folder)
    server = make_server("127.0.0.1", 0, app, threaded=True)  # type: ignore[arg-type]
    (folder / "port.new").write_text(str(server.server_port))
    (folder / "port.new").rename(folder / "port")
    server.serve_forever()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
