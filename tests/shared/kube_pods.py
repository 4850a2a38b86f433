"""The pods of the stand-in cluster: local processes, and programs that exec streams run beside them."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import WSMsgType, web

from steelyard.hosts.minder.processes import find_variable, list_pids, read_environment

MESSAGE, MOST_BYTES = "/dev/termination-log", 4096
_MARK, _OWN = "STAND_IN_POD", frozenset({"HOME", "TMPDIR"})


def _expand(word: str) -> str:
    """As the kubelet does: `$$` is `$`; what stands in `$(…)` would be a variable, of which there is none."""
    return word.replace("$$", "$")


def now() -> str:
    """The time as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class StandInPod:
    """A pod with its process, the programs beside it, and its object."""

    def __init__(
        self,
        document: dict[str, Any],
        surroundings: dict[str, str],
        on_end: Callable[[StandInPod], None],
        tells_after: float,
    ) -> None:
        self.document, self._surroundings, self._on_end = document, surroundings, on_end
        self.main: Process | None = None
        self._tells_after = tells_after
        self.streams: list[web.WebSocketResponse] = []

    @property
    def _message(self) -> Path:
        """Its termination message, for which each pod has a file of its own at the same place."""
        return Path(self._surroundings["STAND_IN_CLOSED"]).with_name(self.document["metadata"]["uid"])

    @property
    def environment(self) -> dict[str, str]:
        container = self.document["spec"]["containers"][0]
        given = {each["name"]: self._read_value(each) for each in container.get("env", ())}
        for name in given.keys() & _OWN:  # the volumes of all pods are one directory here
            given[name] += f"-{self.document['metadata']['name']}"
        return {**os.environ, **self._surroundings, **given, _MARK: self.document["metadata"]["uid"]}

    def _read_value(self, variable: dict[str, Any]) -> str:
        """What a variable of the container says; of the downward API it knows the address."""
        if "value" in variable:
            return variable["value"]
        assert variable["valueFrom"] == {"fieldRef": {"fieldPath": "status.podIP"}}
        return self._surroundings["STAND_IN_ADDRESS"]

    async def start(self) -> None:
        """Begin the command of its container."""
        container = self.document["spec"]["containers"][0]
        for mount in container.get("volumeMounts", ()):
            Path(mount["mountPath"]).mkdir(parents=True, exist_ok=True, mode=0o777)
            Path(mount["mountPath"]).chmod(0o777)  # as the kubelet makes an emptyDir
        try:
            words = (_expand(word).replace(MESSAGE, str(self._message)) for word in container["command"])
            self.main = await asyncio.create_subprocess_exec(
                *words,
                env=self.environment,
                start_new_session=True,
            )
        except OSError as error:
            self.finish({"reason": "StartError", "message": str(error), "exitCode": 128})
            return
        state = {"running": {"startedAt": now()}}
        asyncio.get_running_loop().call_later(self._tells_after, self._tell_running, state)
        self._ending = asyncio.create_task(self._await_end(self.main))
        if seconds := self.document["spec"].get("activeDeadlineSeconds"):
            late = {"exitCode": 143, "reason": "Error"}
            asyncio.get_running_loop().call_later(seconds, self.finish, late, "DeadlineExceeded")

    @property
    def runs(self) -> bool:
        """Whether its container does, its kubelet having told or not."""
        return self.main is not None and self.main.returncode is None

    def _tell_running(self, state: dict[str, Any]) -> None:
        if self.runs:
            self._set("Running", state)

    async def _await_end(self, main: Process) -> None:
        code = await main.wait()
        self.finish(
            {"reason": "Completed" if not code else "Error", "exitCode": code if code >= 0 else 128 - code}
        )

    def finish(self, terminated: dict[str, Any], reason: str = "") -> None:
        """Everything in it ends."""
        if self.document["status"]["phase"] in ("Succeeded", "Failed"):
            return
        uid = self.document["metadata"]["uid"]
        while left := [p for p in list_pids() if find_variable(read_environment(p), _MARK) == uid]:
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for name in _OWN & {each["name"] for each in self.document["spec"]["containers"][0].get("env", ())}:
            shutil.rmtree(self.environment[name], ignore_errors=True)  # the volume goes with its pod
        if self._message.exists():
            terminated["message"] = self._message.read_text()[:MOST_BYTES]
            self._message.unlink()
        self._set("Failed" if terminated["exitCode"] or reason else "Succeeded", {"terminated": terminated})
        if reason:
            self.document["status"]["reason"] = reason
        self._on_end(self)

    def _set(self, phase: str, state: dict[str, Any]) -> None:
        status = self.document["status"]
        status["phase"] = phase
        status["podIP"] = self._surroundings["STAND_IN_ADDRESS"]
        status["containerStatuses"] = [{"name": "main", "state": state, "restartCount": 0}]

    def wait_for(self, reason: str, message: str) -> None:
        """Its image cannot be had."""
        waiting = {"waiting": {"reason": reason, "message": message}}
        self.document["status"]["containerStatuses"] = [{"name": "main", "state": waiting, "restartCount": 0}]

    async def execute(self, command: list[str], stream: web.WebSocketResponse) -> None:
        """Run a program in it; its input ends when the client goes, and nothing else does."""
        self.streams.append(stream)
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=self.environment, start_new_session=True
        )
        feeding = asyncio.create_task(_feed(stream, process))
        with suppress(ConnectionError):
            await asyncio.gather(_copy(stream, 1, process.stdout), _copy(stream, 2, process.stderr))
            await stream.send_bytes(b"\3" + json.dumps(_status(await process.wait())).encode())
            await stream.close()
        feeding.cancel()


async def _feed(stream: web.WebSocketResponse, process: Process) -> None:
    """What comes from the client, until it closes its input or is gone."""
    try:
        async for message in stream:
            if message.type is not WSMsgType.BINARY:
                break
            if message.data[0] == 255:
                process.stdin.close()
            else:
                process.stdin.write(message.data[1:])
                await process.stdin.drain()
    except (ConnectionError, RuntimeError):
        return  # it reads no more
    finally:
        process.stdin.close()


async def _copy(stream: web.WebSocketResponse, number: int, source: asyncio.StreamReader) -> None:
    while data := await source.read(1 << 16):
        await stream.send_bytes(bytes([number]) + data)


def _status(code: int) -> dict[str, Any]:
    """As the kubelet tells of an end."""
    if code == 0:
        return {"metadata": {}, "status": "Success"}
    number = code if code > 0 else 128 - code
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {number}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(number)}]},
    }
