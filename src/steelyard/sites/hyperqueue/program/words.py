"""The program's command line."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn


class CommandParser(argparse.ArgumentParser):
    """One that says what is wrong, and no more."""

    def error(self, message: str) -> NoReturn:
        """End so."""
        self.exit(2, f"{message}\n")


def parse(words: Sequence[str]) -> argparse.Namespace:
    """What is to be done."""
    parser = CommandParser(prog="hyperqueue", allow_abbrev=False)
    parser.add_argument("--server-dir", type=Path, default=_find_server())
    verbs = parser.add_subparsers(dest="verb", required=True, parser_class=CommandParser)
    submit, task = verbs.add_parser("submit", allow_abbrev=False), verbs.add_parser("task")
    for verb in (submit, task):
        verb.add_argument("--output", required=True)
        verb.add_argument("--seconds", type=float, required=True)
        verb.add_argument("--warning", type=float, required=True)
        verb.add_argument("shell", nargs="+")
    task.add_argument("--notes", type=Path, required=True)
    for name in ("--name", "--directory", "--cpus", "--python"):
        submit.add_argument(name, required=True)
    submit.add_argument("--priority", type=int, default=0)
    submit.add_argument("--resource", action="append", default=[], type=_check_resource)
    verbs.add_parser("status").add_argument("jobs", nargs="+", type=int)
    verbs.add_parser("cancel").add_argument("job", type=int)
    verbs.add_parser("list").add_argument("name")
    verbs.add_parser("cancel-named").add_argument("name")
    return parser.parse_args(words)


def _find_server() -> Path:
    """Where `hq` looks."""
    return Path(os.environ.get("HQ_SERVER_DIR") or Path.home() / ".hq-server")


def _check_resource(word: str) -> str:
    name, _, amount = word.partition("=")
    if not (name and amount):
        raise argparse.ArgumentTypeError(f"'{word}' is not NAME=AMOUNT, as in gpus=2")
    return word


def run_task(options: argparse.Namespace) -> int:
    """Run a job's script; its exit code."""
    from .task import Task

    return Task(options.notes, options.seconds, options.warning).run(options.shell, options.output)


def ask_server(options: argparse.Namespace) -> str:
    """What it answers."""
    from .server import HyperqueueServer

    server = HyperqueueServer(options.server_dir.absolute())
    if options.verb == "status":
        return json.dumps(server.describe_jobs(options.jobs))
    if options.verb == "list":
        return "\n".join(map(str, server.list_unfinished(options.name)))
    if options.verb in ("cancel", "cancel-named"):
        jobs = [options.job] if options.verb == "cancel" else server.list_unfinished(options.name)
        server.cancel(jobs)
        return ""
    identity = server.submit(
        options.name, _make_task(options, server.notes), sys.stdin.read(), directory=options.directory,
        seconds=options.seconds, cpus=options.cpus, priority=options.priority, resources=options.resource,
    )  # fmt: skip
    return str(identity)


def _make_task(options: argparse.Namespace, notes: Path) -> tuple[str, ...]:
    """This program again, on the worker."""
    return (
        *(options.python, "-I", "-S", os.path.dirname(__file__), "task", "--notes", str(notes)),  # noqa: PTH120
        *("--output", options.output, "--seconds", str(options.seconds), "--warning", str(options.warning)),
        *("--", *options.shell),
    )


def main() -> None:
    """Do what the command line says."""
    options = parse(sys.argv[1:])
    if options.verb == "task":
        sys.exit(run_task(options))
    print(ask_server(options))
