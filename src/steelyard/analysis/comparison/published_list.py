"""All published results that Steelyard knows of, and the runs that regenerate them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from steelyard.analysis.comparison.compare_published import compare_published
from steelyard.analysis.comparison.published import load_published, published_ids
from steelyard.analysis.findings import Findings
from steelyard.errors import StoreError, UnknownName
from steelyard.published import read_table
from steelyard.store.layout import RunFolder
from steelyard.store.reader import RunRecord


@dataclass(frozen=True, slots=True)
class ListedResult:
    """A result: its document, the part of it, what it shows, and the file that regenerates it, if there is.

    `run` is the newest run of that file, `verdicts` how its shapes stand to theirs: `2 inside, 1 open`.
    """

    id: str
    document: str
    source: str
    section: str
    shows: str
    experiment: str
    has_shapes: bool
    run: str = ""
    verdicts: str = ""


def list_results(
    document: str | None = None, section: str | None = None, *, with_experiment: bool = False
) -> list[ListedResult]:
    """Those of a document, of a section (`4` holds 4.9), that have an experiment. Raises UnknownName."""
    titles = document_titles()
    if document is not None and document not in titles:
        raise UnknownName("document", document, titles, hint=f"there are: {', '.join(titles)}")
    shaped = set(published_ids())
    results = [_build_result(row, titles, shaped) for row in read_table("results.csv")]
    of_document = [one for one in results if document in (None, one.document)]
    sections = list(dict.fromkeys(one.section for one in of_document if one.section))
    if section is not None and not any(_lies_in(each, section) for each in sections):
        raise UnknownName("section", section, sections, hint=f"there are: {', '.join(sections)}")
    return [
        one
        for one in of_document
        if (section is None or _lies_in(one.section, section)) and (one.experiment or not with_experiment)
    ]


def document_titles() -> dict[str, str]:
    """The documents by their short names."""
    return {row["id"]: row["title"] for row in read_table("documents.csv")}


def newest_runs(folders: Iterable[RunFolder]) -> dict[str, RunRecord]:
    """The newest run of each result that an experiment's tag `published` names; damaged runs have none."""
    records: dict[str, RunRecord] = {}
    for folder in folders:
        record = RunRecord(folder)
        try:
            tag = (record.design.get("tags") or {}).get("published")
        except StoreError:
            continue
        if isinstance(tag, str):
            records |= dict.fromkeys(tag.split(), record)
    return records


def judge_run(record: RunRecord, name: str) -> str:
    """How the shapes of a run stand to those of a result: `2 inside, 1 open`; why not, where they cannot."""
    try:
        shapes = compare_published(Findings(record), load_published(name)).shapes
    except StoreError as error:
        return error.message
    counts = Counter(one.stands for one in shapes)
    return ", ".join(f"{count} {stands}" for stands, count in counts.items()) or "no shape in common"


def _build_result(row: dict[str, str], titles: dict[str, str], shaped: set[str]) -> ListedResult:
    name, document = row["id"], row["id"].partition("/")[0]
    return ListedResult(
        name, document, titles[document], row["section"], row["shows"], row["experiment"], name in shaped
    )


def _lies_in(section: str, wanted: str) -> bool:
    return section == wanted or section.startswith(f"{wanted}.")
