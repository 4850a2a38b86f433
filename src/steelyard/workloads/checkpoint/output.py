"""What the program's line says, and the metrics that follow from it."""

from __future__ import annotations

from steelyard.plugin import Mark, Metric, ParseFailure, Reading
from steelyard.workloads.checkpoint.program.cold import WARM
from steelyard.workloads.kit.document import JsonNode


def _time(name: str, about: str) -> Metric:
    return Metric(name, "s", "lower", about, over_copies="max")


WHOLE = (
    _time("save_time", "from the request until the state file and its directory are synced"),
    Metric("state_size", "B", "lower", "size of the state file"),
    Metric("save_rate", "B/s", "higher", "size of the state file over the time of the save"),
    _time("restore_time", "from the request until a new process has the state"),
    Metric("restore_rate", "B/s", "higher", "size of the state file over the time of the restore"),
)
OF_PROGRAM = (
    _time("write_time", "part of the save: until the state file is there"),
    _time("sync_time", "part of the save: fsync of the file and its directory"),
)
OF_UNIT = (
    _time("write_time", "part of the save: making and writing the file"),
    _time("sync_time", "part of the save: fsync of the file and its directory, and the new name"),
    _time("checksum_time", "part of the save: the checksum, which the program computes as it writes"),
)
OF_OBJECT = (
    _time("collect_time", "part of the save: reading the object, and leaving it as it was"),
    *OF_UNIT,
)
COORDINATED = (
    _time("pre_time", "draining the channels: until no message is in transit to or from a unit"),
    _time("save_time", "from the common moment until the state file and its directory are synced"),
    _time("post_time", "connections and messages again, once all units are ready for that"),
    _time("pause_time", "from the request to drain until messages go around again, restore included"),
    Metric("drained", "1", "none", "messages that were in transit, and came while channels were drained"),
    Metric("messages", "1", "none", "messages that were checked, each sent and received once"),
    Metric("state_size", "B", "lower", "size of the state files of all units"),
)
REOPENED = (_time("restore_time", "from the common request until a new process has the state"),)


def read_result(document: JsonNode, names: tuple[str, ...]) -> Reading:
    """The figures. Raises ParseFailure."""
    took, size = document.child("took"), document.child("size").count()
    times = {f"{name}_time": took.child(name).number() for name in names}
    save, restore = times["save_time"], times["restore_time"]
    if not size or not save or not restore:
        raise ParseFailure(
            f"{document.where}: {size} bytes were saved in {save} s and restored in {restore} s"
        )
    values = {**times, "state_size": float(size), "save_rate": size / save, "restore_rate": size / restore}
    cache = document.child("cache")
    facts = {"cache": cache.value, "python": document.child("python").text()}
    return Reading(values, marks=_judge_cache(cache), facts=facts)


def read_ring(document: JsonNode, names: tuple[str, ...]) -> Reading:
    """The figures of a copy among others. Raises ParseFailure."""
    took = document.child("took")
    values = {f"{name}_time": took.child(name).number() for name in names}
    counts = {name: float(document.child(name).count()) for name in ("drained", "messages")}
    size = document.child("size").count()
    if not size or not counts["messages"]:
        raise ParseFailure(
            f"{document.where}: saved {size} bytes, and checked {counts['messages']:g} messages"
        )
    cache = document.child("cache")
    facts = {"cache": cache.value, "python": document.child("python").text()}
    return Reading({**values, **counts, "state_size": float(size)}, marks=_judge_cache(cache), facts=facts)


def _judge_cache(cache: JsonNode) -> tuple[Mark, ...]:
    """A restore that was to be cold and was not fell back to a warm one."""
    share = cache.child("cached", default=0.0).number()
    if share <= WARM:
        return ()
    reason = f"{share:.0%} of the state file was cached before the restore, after {cache.child('how').text()}"
    return (Mark("fallback", reason, cause="restored from the cache"),)
