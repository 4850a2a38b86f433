"""What a draft begins with: a run, an entry of the catalogue, a saved draft, or a first example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from steelyard.errors import UnknownName
from steelyard.spec.catalog import describe_entries, format_default
from steelyard.spec.change import dump
from steelyard.spec.first_experiment import fill_template
from steelyard.store.layout import Store
from steelyard.store.reader import RunRecord
from steelyard.web.drafts.saved import SavedDrafts

WORDS = ("sleep", "{0.1,0.2}")


def read_origin(origin: str, store: Store) -> str:
    """The text for `run:ID`, `entry:NAME`, `draft:NAME`, or nothing. Raises UnknownName, StoreError."""
    kind, _, name = origin.partition(":")
    if not origin:
        return fill_template(WORDS, "FILE")
    if kind == "run":
        return RunRecord(store.find(name)).experiment_text
    if kind == "draft":
        return SavedDrafts(store).read(name)
    if kind == "entry":
        return _write_example(name)
    raise UnknownName("origin", kind, ("run", "draft", "entry"))


def _write_example(name: str) -> str:
    """An experiment of a workload's first example, with what else it takes as comments."""
    workloads = [entry for entry in describe_entries(name) if entry["kind"] == "workload"]
    if not workloads:
        raise UnknownName("workload", name, [entry["name"] for entry in describe_entries()])
    (entry,) = workloads
    example: Mapping[str, Any] = next(iter(entry["examples"]), {})
    tree = {"experiment": name.replace("_", "-"), "workload": {"use": name, **example}, "repeat": 6}
    head, _, tail = dump(tree).partition("repeat:")
    return f"{head}{''.join(_comment_options(entry, example))}repeat:{tail}"


def _comment_options(entry: Mapping[str, Any], example: Mapping[str, Any]) -> Iterator[str]:
    for key, option in entry["options"].items():
        if key not in example:
            about = " ".join(str(option["about"]).split())
            yield f"  # {key}: {format_default(option['default']) or '…'}    {about}".rstrip() + "\n"
