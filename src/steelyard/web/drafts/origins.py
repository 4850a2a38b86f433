"""What a draft begins with: a run, an entry of the catalogue, a saved draft, or a first example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from steelyard.controller.design_document import find_folder
from steelyard.errors import SpecError, UnknownName
from steelyard.spec.catalog import describe_entries, format_default
from steelyard.spec.change import dump, name_folder
from steelyard.spec.first_experiment import fill_template
from steelyard.spec.load import load_source
from steelyard.spec.yaml.source import read
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
        return _copy_run(RunRecord(store.find(name)))
    if kind == "draft":
        return SavedDrafts(store).read(name)
    if kind == "entry":
        return _write_example(name)
    raise UnknownName("origin", kind, ("run", "draft", "entry"))


def _copy_run(record: RunRecord) -> str:
    """The file of a run, with the folder in which it found plug-ins and programs, if that is still there.

    Where a run of somebody else's was made is nothing to look for here.
    """
    text, folder = record.experiment_text, find_folder(record)
    if folder is None or not folder.is_dir() or record.folder.imported_from():
        return text
    with suppress(SpecError):  # what is wrong with it is told beside it
        load_source(read(text, record.id), folder)
        return name_folder(text, folder)
    return text


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
