"""Until all pods run, or it is plain that they will not: there is no gang start, so all are given back."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from steelyard.errors import HostError
from steelyard.printable import make_one_line
from steelyard.provision.kubernetes.early import ask_pods
from steelyard.transports.kubernetes.api import ApiServer
from steelyard.transports.kubernetes.errors import ClusterError
from steelyard.transports.kubernetes.pods import PodState, newest
from steelyard.transports.kubernetes.transport import JOB_LABEL

POLL = 0.5
# So soon it is looked again at first, in seconds; later, after a share of the time waited, and up to `POLL`.
_SOON, _SHARE = 0.05, 0.1
EARLY = 5.0
"""For so many seconds pods are asked themselves, too; who has waited longer does not mind one more."""
JOBS = "batch/v1/jobs"
_FINAL = ("violates PodSecurity", "admission webhook")


class Wanted(NamedTuple):
    """A pod that is to run: the name of its host, its Job, and its place there."""

    host: str
    job: str
    place: int


Places = Mapping[Wanted, PodState]


async def await_pods(
    server: ApiServer, selector: str, wanted: Sequence[Wanted], seconds: float
) -> dict[Wanted, PodState]:
    """The pods, all running. Raises HostError that names each that does not, with its reason."""
    clock = asyncio.get_running_loop().time
    began = clock()
    while True:
        places, refusals = await _look(server, selector, wanted)
        if clock() - began < EARLY:
            places |= await ask_pods(server, places)
        running = {one: state for one, state in places.items() if state.is_running}
        if len(running) == len(wanted):
            return running
        if any(state.is_hopeless for state in places.values()) or any(map(_is_final, refusals.values())):
            raise _explain(wanted, places, refusals, "cannot run")
        waited = clock() - began
        if waited >= seconds:
            raise _explain(wanted, places, refusals, f"did not run within {seconds:g} s")
        await asyncio.sleep(min(POLL, _SOON + _SHARE * waited))


async def _look(
    server: ApiServer, selector: str, wanted: Sequence[Wanted]
) -> tuple[dict[Wanted, PodState], dict[str, str]]:
    """The pods that there are, and by Job why it makes no more. An API server may be away for a moment."""
    try:
        pods = await server.list("pods", labelSelector=selector)
        by_job = {job: newest(_of_job(pods, job)) for job in {one.job for one in wanted}}
        places = {one: by_job[one.job][one.place] for one in wanted if one.place in by_job[one.job]}
        lacking = {one.job for one in wanted if one not in places}
        return places, {job: why for job in sorted(lacking) if (why := await _find_refusal(server, job))}
    except ClusterError as error:
        if error.is_transient:
            return {}, {}
        raise


def _of_job(pods: Sequence[Mapping[str, Any]], job: str) -> list[Mapping[str, Any]]:
    return [pod for pod in pods if pod["metadata"].get("labels", {}).get(JOB_LABEL) == job]


async def _find_refusal(server: ApiServer, job: str) -> str:
    """Why the Job controller has made no pod: a quota, a policy; or how the Job itself ended."""
    document = await server.get(server.path(JOBS, job))
    for condition in document.get("status", {}).get("conditions") or ():
        if condition.get("status") == "True" and condition.get("type") in ("Failed", "Suspended"):
            return f"{condition['type']}: {condition.get('reason', '')}: {condition.get('message', '')}"
    uid = document["metadata"]["uid"]
    events = await server.list("events", fieldSelector=f"involvedObject.uid={uid}")
    warnings = [str(each.get("message")) for each in events if each.get("type") == "Warning"]
    return warnings[-1] if warnings else ""


def _is_final(refusal: str) -> bool:
    return refusal.startswith("Failed:") or any(word in refusal for word in _FINAL)


def _explain(wanted: Sequence[Wanted], places: Places, refusals: Mapping[str, str], what: str) -> HostError:
    lines = []
    for one in wanted:
        state = places.get(one)
        if state and not state.is_running:
            lines.append(f"\n  {one.host}: {state.explain()}")
        elif not state:
            why = refusals.get(one.job) or "the cluster has made no pod for it yet"
            lines.append(f"\n  {one.host}: {make_one_line(why)[:400]}")
    message = f"{len(lines)} of {len(wanted)} pods {what}; all were given back:{''.join(lines)}"
    hint = "`within` of the site waits longer; lower `requests`, free a quota, or mend the image's name"
    return HostError(message, hint=hint)
