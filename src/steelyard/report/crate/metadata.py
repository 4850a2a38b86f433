"""What a crate says of itself: JSON-LD after RO-Crate 1.2 (w3id.org/ro/crate/1.2), with its run as an action.

Source: Research Object Crate 1.2, sections "Root Data Entity" and "Provenance"; Process Run Crate 0.5.
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from steelyard import __version__
from steelyard.analysis.findings import Findings
from steelyard.errors import UsageError
from steelyard.report.ci.figures import CellFigure, list_figures
from steelyard.report.derived_lines import sections
from steelyard.report.sections.outcome import outcome
from steelyard.store.layout import CRATE

VERSION = "https://w3id.org/ro/crate/1.2"
Entity = dict[str, Any]
_AUTHOR = re.compile(r"([^<>]+?)\s*(?:<([^<>\s]+)>)?")
_KINDS = {
    ".ndjson": "application/x-ndjson",
    ".yaml": "application/yaml",
    ".parquet": "application/vnd.apache.parquet",
}
_ABOUT = {
    "experiment.yaml": "The experiment: what was measured, and how often",
    "design.json": "Cells, metrics, units, seed and requirements of the run",
    "environment.json": "The machine and each host: hardware, kernel, file systems, tools",
    "journal.ndjson": "The history of the run: every trial with its figures, in order",
    "figures.csv": "The figures: a row for each trial and metric",
    "report.html": "The report",
}


class Publication(NamedTuple):
    """What a run does not know of itself. `license` is an SPDX id or a URL, `authors` are `Name <URL>`."""

    license: str
    authors: tuple[str, ...]


def choose_publication(findings: Findings, given: Publication) -> Publication:
    """What was given, else the experiment's tags `license` and `author`.

    Raises UsageError without a licence.
    """
    tags = findings.record.design.get("tags") or {}
    license_ = given.license or str(tags.get("license", ""))
    authors = given.authors or tuple(filter(None, (str(tags.get("author", "")),)))
    if not license_:
        hint = "for example --license CC-BY-4.0, or `tags: {license: CC-BY-4.0}` in the experiment"
        raise UsageError("a crate needs a licence, so that others know what they may do with it", hint=hint)
    return Publication(license_, authors)


def describe_crate(findings: Findings, publication: Publication, files: Mapping[str, Path]) -> Entity:
    """The document; `files` are those of the crate, by their names in it."""
    people = [_describe_author(text) for text in publication.authors]
    licence = _describe_license(publication.license)
    figures = [_describe_figure(number, one) for number, one in enumerate(list_figures(findings), start=1)]
    parts = [_describe_file(name, path) for name, path in sorted(files.items())]
    software = {
        "@id": "#steelyard",
        "@type": "SoftwareApplication",
        "name": "Steelyard",
        "version": str(findings.record.journal[0].get("version", __version__)),
    }
    root = _describe_root(findings, parts, people, licence, figures)
    action = _describe_run(findings, people)
    graph = [_describe_itself(), root, *parts, action, software, licence, *people, *figures]
    return {"@context": f"{VERSION}/context", "@graph": graph}


def _describe_itself() -> Entity:
    return {
        "@id": CRATE,
        "@type": "CreativeWork",
        "conformsTo": {"@id": VERSION},
        "about": {"@id": "./"},
    }


def _describe_root(
    findings: Findings,
    parts: Sequence[Entity],
    people: Sequence[Entity],
    licence: Entity,
    figures: Sequence[Entity],
) -> Entity:
    design = findings.record.design
    answer = outcome(findings, sections(findings.derived)).answer
    return {
        "@id": "./",
        "@type": "Dataset",
        "name": f"{findings.summary.title}: {findings.record.id}",
        "description": " ".join(filter(None, (str(design.get("about") or ""), answer))),
        "datePublished": datetime.now(UTC).date().isoformat(),
        "identifier": findings.record.id,
        "license": _refer(licence),
        "hasPart": [_refer(part) for part in parts],
        "mentions": [{"@id": "#run"}],
        **({"author": [_refer(one) for one in people]} if people else {}),
        **({"variableMeasured": [_refer(one) for one in figures]} if figures else {}),
        **({"keywords": ", ".join(map(str, design["covers"]))} if design.get("covers") else {}),
    }


def _describe_run(findings: Findings, people: Sequence[Entity]) -> Entity:
    lines = findings.record.journal
    return {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"Run {findings.record.id}",
        "instrument": {"@id": "#steelyard"},
        "object": [{"@id": "experiment.yaml"}],
        "result": [{"@id": "journal.ndjson"}, {"@id": "figures.csv"}, {"@id": "report.html"}],
        "startTime": _format_time(lines[0]["wall"]),
        "endTime": _format_time(lines[-1]["wall"]),
        **({"agent": _refer(people[0])} if people else {}),
    }


def _describe_file(name: str, path: Path) -> Entity:
    kind = _KINDS.get(path.suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    about = {"description": _ABOUT[name]} if name in _ABOUT else {}
    return {
        "@id": name,
        "@type": "File",
        "name": name,
        "encodingFormat": kind,
        "contentSize": str(path.stat().st_size),
        **about,
    }


def _describe_figure(number: int, one: CellFigure) -> Entity:
    ends = one.bounds
    return {
        "@id": f"#figure-{number}",
        "@type": "PropertyValue",
        "name": f"{one.metric.name} ({one.cell.key})",
        "description": f"{one.metric.about or one.metric.name}; median of {one.summary.n} trials",
        "value": one.summary.median,
        "unitText": one.metric.unit,
        **({"minValue": ends[0], "maxValue": ends[1]} if ends else {}),
    }


def _describe_author(text: str) -> Entity:
    match = _AUTHOR.fullmatch(text.strip())
    if not match:
        raise UsageError(f"--author {text}: write a name, or 'Name <https://orcid.org/…>'")
    name, url = match[1], match[2]
    return {"@id": url or f"#{'-'.join(name.split())}", "@type": "Person", "name": name}


def _describe_license(text: str) -> Entity:
    url = text if "://" in text else f"https://spdx.org/licenses/{text}"
    return {"@id": url, "@type": "CreativeWork", "name": text}


def _refer(entity: Entity) -> Entity:
    return {"@id": entity["@id"]}


def _format_time(wall: object) -> str:
    return datetime.fromtimestamp(float(str(wall)), UTC).isoformat(timespec="seconds")
