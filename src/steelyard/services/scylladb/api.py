"""What a node of ScyllaDB says of itself, and what it is told to do: its REST API, asked on its own host.

The API asks for no password, so it listens on the host's loopback and is asked there, with curl. Whether it
lets clients in is asked as they would: by the first two messages of the native protocol, version 4, which
bash can say, by TLS through openssl. Paths are those of "API Reference" in ScyllaDB's manual.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.plugin import HostError
from steelyard.plugin.host import Host
from steelyard.services.scylladb.config import USER

_SECONDS = 5.0  # for an answer; a node that is frozen gives none
_BETWEEN = "\n--\n"
_ASK = f"""curl --silent --max-time {_SECONDS:g} --write-out '\\n--\\n' "$@" """
_TELL = (
    """curl --silent --show-error --max-time "$1" --request POST --write-out '\\n%{http_code}' "$2" 2>&1"""
)
# A message is version, flags, stream (2 bytes), kind, length (4 bytes), body. STARTUP (1) is answered with
# AUTHENTICATE (3), AUTH_RESPONSE (0f) with AUTH_SUCCESS (10); its body is [bytes] of \\0user\\0password.
_LOGIN = r"""
if [ "$1" = tls ]; then
    coproc exec openssl s_client -quiet -verify_return_error -CAfile conf/authority.pem \
        -connect "$2:$3" 2>/dev/null
    trap 'kill $COPROC_PID' EXIT
    exec 3<&"${COPROC[0]}" 4>&"${COPROC[1]}"
else
    exec 3<>"/dev/tcp/$2/$3" 4>&3 || exit 1
fi
user=$4; password=${5-$(cat client.password)}
heard() {
    head=$(head -c 9 <&3 | od -An -v -tx1 | tr -d ' \n')
    head -c $((0x${head:10})) <&3 >/dev/null
    [ "${head:8:2}" = "$1" ]
}
printf '\x04\x00\x00\x01\x01\x00\x00\x00\x16\x00\x01\x00\x0bCQL_VERSION\x00\x053.0.0' >&4
heard 03 || exit 1
length=$((${#user} + ${#password} + 2))
printf "\\x04\\x00\\x00\\x01\\x0f\\x00\\x00\\x00\\x$(printf %02x $((length + 4)))" >&4
printf "\\x00\\x00\\x00\\x$(printf %02x $length)\\x00%s\\x00%s" "$user" "$password" >&4
heard 10 && echo in
"""
_STATE = {
    "mode": "/storage_service/operation_mode",
    "open": "/storage_service/native_transport",
    "live": "/gossiper/endpoint/live",
    "joining": "/storage_service/nodes/joining",
    "leaving": "/storage_service/nodes/leaving",
    "moving": "/storage_service/nodes/moving",
    "schemas": "/storage_proxy/schema_versions",
}
_METERS = {
    "load_bytes": "/storage_service/load",
    "pending_compactions": "/compaction_manager/metrics/pending_tasks",
}
_VERSION = "/storage_service/scylla_release_version"


@dataclass(frozen=True, slots=True)
class ScyllaState:
    """What a node said: empty when it did not answer, or not all of it."""

    answers: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_normal(self) -> bool:
        """Whether it is part of the ring."""
        return bool(self.answers.get("mode") == "NORMAL")

    def is_ready(self, others: Iterable[str]) -> bool:
        """Whether it is part of the ring, open, and takes the others to be up and none to come or go."""
        if not self.is_normal or not self.answers["open"]:
            return False
        moves = any(self.answers[view] for view in ("joining", "leaving", "moving"))
        schemas = {entry["key"] for entry in self.answers["schemas"]} - {"UNREACHABLE"}
        return not moves and len(schemas) <= 1 and set(others) <= set(self.answers["live"])


async def fetch_state(host: Host, place: str) -> ScyllaState:
    """What a node says; `place` is address and port of its API."""
    return ScyllaState(await _fetch_answers(host, place, _STATE))


async def fetch_meters(host: Host, place: str) -> dict[str, float]:
    """Its figures by our names; empty when it does not answer."""
    answers = await _fetch_answers(host, place, _METERS)
    return {name: float(value) for name, value in answers.items()}


async def fetch_version(host: Host, place: str) -> str:
    """Of ScyllaDB; `unknown` when it does not tell."""
    return str((await _fetch_answers(host, place, {"version": _VERSION})).get("version", "unknown"))


async def run_operation(host: Host, place: str, path: str, seconds: float) -> None:
    """Have it do something, and wait until it has. Raises HostError with its reason."""
    words = ("sh", "-c", _TELL, "sh", f"{seconds:g}", f"http://{place}{path}")
    said = await host.capture(words, seconds=seconds + _SECONDS) or "it did not answer"
    body, _, code = said.rpartition("\n")
    if code != "200":
        reason = " ".join((body or said).split())[-600:]
        raise HostError(f"{path} failed on {host.name}: {reason} ({code})" if body else f"{path}: {reason}")


async def can_log_in(
    host: Host, address: str, port: int, scratch: str, *well_known: str, encrypted: bool
) -> bool:
    """Whether the run's user may log in; or the well-known one, whose name and password are given.

    The run's password is read from a file in `scratch`, so that it is in no command line.
    """
    words = ("tls" if encrypted else "plain", address, str(port), *(well_known or (USER,)))
    line = ("bash", "-c", f'cd "$0" && {_LOGIN.strip()}', scratch, *words)
    return (await host.capture(line, seconds=_SECONDS) or "").strip() == "in"


async def _fetch_answers(host: Host, place: str, paths: Mapping[str, str]) -> dict[str, Any]:
    """The answers by name; none at all unless all of them could be read."""
    words = ("sh", "-c", _ASK, "sh", *(f"http://{place}{path}" for path in paths.values()))
    said = (await host.capture(words, seconds=_SECONDS * len(paths)) or "").split(_BETWEEN)
    try:
        return {name: json.loads(text) for name, text in zip(paths, said, strict=False)} if said[1:] else {}
    except json.JSONDecodeError:
        return {}
