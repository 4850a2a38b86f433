"""A trace in words: the sentence that says what an application is like, and what a trace lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from steelyard.traces.profile import Profile
from steelyard.units import format_count, show

_UNSEEN = {
    "lost": "{calls} not recorded: the disk was full, or a signal came in the middle of a record",
    "io_uring": "{rings} of io_uring were made, and what goes through them is not seen",
    "aio": "{requests} of asynchronous I/O (io_submit, aio_read and the like) are not seen",
    "raw": "{calls} made by syscall() itself are not seen",
    "unloaded": "{programs} started without the library: linked statically, with another account's rights,"
    " or without LD_PRELOAD",
    "mapped": "{bytes} mapped so that writing to memory changes the file: such accesses are no calls",
}
_FUSE = "what was open before; how far a call waited for its turn, and large calls are seen in parts"
_BY_WAY = {
    "darshan": ("all but reads and writes: Darshan's extended tracing tells no other call",),
    "fuse": (_FUSE, "memory that is mapped and shared: the program cannot have it"),
    "fuse-cached": (_FUSE, "what the kernel's cache answered, and when what it wrote was written"),
}
_WORDS = {"lost": "call", "io_uring": "ring", "aio": "request", "raw": "call", "unloaded": "program"}


def characterise(profile: Profile) -> str:
    """One sentence, such as `Write-intensive: 12 MiB in 3,012 writes …`."""
    if not profile.calls:
        return "No storage call was recorded."
    parts = [_describe_data(profile, kind) for kind in ("read", "write") if kind in profile.kinds]
    begin = f"{profile.label.capitalize()}: {' and '.join(parts)}" if parts else "No data was read or written"
    metadata = sum(
        profile.kinds[kind].calls for kind in ("metadata", "open", "close") if kind in profile.kinds
    )
    tail = [f"{metadata / profile.calls:.0%} of the calls concern metadata"]
    if "sync" in profile.kinds:
        tail.insert(0, f"synchronised {format_count(profile.kinds['sync'].calls, 'time')}")
    if profile.most_at_once > 1:
        tail.append(f"at most {profile.most_at_once} calls at once")
    return f"{begin}; {', '.join(tail)}."


def _describe_data(profile: Profile, kind: str) -> str:
    group = profile.kinds[kind]
    text = f"{show(group.bytes, 'B')} in {format_count(group.calls, kind)}"
    sizes = profile.sizes.get(kind, ())
    if sizes:
        power, _ = max(sizes, key=lambda size: size[1])
        text += f", mostly of {show(float(1 << power), 'B')} or up to twice that"
    patterns = profile.patterns.get(kind, {})
    if total := sum(patterns.values()):
        pattern, most = max(patterns.items(), key=lambda each: each[1])
        text += f", {most / total:.0%} {pattern}"
    return text


def list_unseen(document: Mapping[str, Any]) -> Iterator[str]:
    """What the trace lacks, a sentence each."""
    yield from _BY_WAY.get(document.get("way", ""), ())
    unseen = document.get("unseen", {})
    for name, text in _UNSEEN.items():
        amount = unseen.get(name, 0)
        if amount:
            counted = show(float(amount), "B") if name == "mapped" else format_count(amount, _WORDS[name])
            key = "bytes" if name == "mapped" else f"{_WORDS[name]}s"
            yield text.format(**{key: counted})
    if without := document.get("unrecorded", 0):
        programs = format_count(without, "program")
        yield f"all of {programs}: there was no room on the disk, or it was killed at once"
    if torn := document.get("torn", 0):
        yield f"{format_count(torn, 'record')} cut off or damaged"
