"""Reads what the functions of `vault.sh` print, and believes only what has the right form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath

from pydantic import ValidationError

from steelyard.errors import HostError
from steelyard.model.snapshot import StoredFile

FILES = "files"  # where they lie in a vault; so no snapshot has this name

_SIZE = re.compile(r"(\d+)\t(.+)")
_DIGEST = re.compile(r"([0-9a-f]{64})  (.+)")
_HELD = re.compile(r"(\d+) [0-9a-f]{2}/([0-9a-f]{64})")
_NOTE = re.compile(r"[0-9a-f]{2}/([0-9a-f]{64})")
_COMPLAINT = re.compile(r"[a-z]+: ")
_FAULT = re.compile(r"(.+): FAILED(?: open or read)?")


def parse_survey(text: str, directory: PurePosixPath) -> tuple[StoredFile, ...]:
    """What `survey` found, by path. Raises HostError for what cannot be kept, or changed meanwhile."""
    listed = text.splitlines()
    sizes = {match[2]: int(match[1]) for line in listed if (match := _SIZE.fullmatch(line))}
    hashed = {match[2]: match[1] for line in listed if (match := _DIGEST.fullmatch(line))}
    if sizes.keys() != hashed.keys() or len(listed) != len(sizes) + len(hashed):
        odd = sorted(sizes.keys() ^ hashed.keys())[:5]
        raise HostError(f"cannot save {directory}: its files changed meanwhile: {', '.join(odd)}")
    try:
        return tuple(StoredFile(path=path, size=sizes[path], digest=hashed[path]) for path in sorted(sizes))
    except ValidationError as error:
        raise HostError(f"cannot save {directory}: {error.errors()[0]['msg']}") from error


def format_places(files: Sequence[StoredFile]) -> str:
    """Where files lie in a vault, a line each."""
    return "".join(f"{digest[:2]}/{digest}\n" for digest in sorted({file.digest for file in files}))


def parse_sizes(text: str, place: str) -> dict[str, int]:
    """Of files in a vault, by digest. Raises HostError for any complaint but that one is missing."""
    matches = map(_HELD.fullmatch, _lines(text, place))
    return {line[2]: int(line[1]) for line in matches if line}


def parse_digests(text: str, place: str) -> set[str]:
    """Digests that are named without a size. Raises HostError as `parse_sizes` does."""
    return {line[1] for line in map(_NOTE.fullmatch, _lines(text, place)) if line}


def _lines(text: str, place: str) -> Iterator[str]:
    for line in text.splitlines():
        if _COMPLAINT.match(line) and not line.endswith("No such file or directory"):
            raise HostError(f"files in {place} cannot be used: {line[:300]}")
        yield line


def find_faulty(text: str, files: Sequence[StoredFile]) -> set[str]:
    """Digests of the files that `lay` found not to be right."""
    paths = {match[1] for line in text.splitlines() if (match := _FAULT.fullmatch(line))}
    named = {file.digest for file in files if file.path in paths}
    if text.strip() and not named:
        raise HostError(f"files could not be checked: {text.strip()[:300]}")
    return named


def describe_fault(file: StoredFile, held: Mapping[str, int]) -> str:
    """What is wrong with a file of which this much is held."""
    size = held.get(file.digest)
    if size is None:
        return "is missing"
    if size != file.size:
        return f"has {size} bytes, expected {file.size}"
    return "has the right size but different content: its SHA-256 does not match its name"
