"""A program of its own, of the standard library alone: starts other programs, each as nobody's child.

It is started before the server makes way for those who measure, so what it starts has an ordinary priority,
and it ends with the server, which what it starts does not. A line of its input is a JSON object: `words`,
`folder` (its working directory) and `log`, a file, which gets its output.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def start(task: dict[str, Any]) -> None:
    """Fork twice: the second child has init for its parent, and a session of its own."""
    first = os.fork()
    if first:
        os.waitpid(first, 0)
        return
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        log = os.open(task["log"], os.O_WRONLY | os.O_NOFOLLOW | os.O_APPEND)
        for ours, theirs in ((nothing, 0), (log, 1), (log, 2)):
            os.dup2(ours, theirs)
        os.chdir(task["folder"])
        os.execv(task["words"][0], task["words"])  # noqa: S606 - as the server says, which made the words
    except OSError as error:
        os.write(2, f"cannot start it: {error}\n".encode())
    finally:
        os._exit(127)


if __name__ == "__main__":
    for line in sys.stdin:
        start(json.loads(line))
