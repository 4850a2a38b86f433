"""Write a crate: a directory, or a ZIP file where the name says so."""

from __future__ import annotations

import json
import shutil
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path

from steelyard.analysis.damage import guard_record
from steelyard.analysis.findings import Findings
from steelyard.errors import StoreError
from steelyard.files import part_name
from steelyard.printable import make_data_printable
from steelyard.report import html
from steelyard.report.crate.metadata import Publication, choose_publication, describe_crate
from steelyard.report.export import write_csv
from steelyard.report.files import replace_file
from steelyard.store.copying import copy_record
from steelyard.store.layout import RunFolder


def write_crate(findings: Findings, path: Path, publication: Publication) -> Path:
    """The record, its figures as a table, its report, and what they are; `path` may end in `.zip`.

    Raises UsageError without a licence, StoreError where it cannot be written or is there already.
    """
    chosen = choose_publication(findings, publication)
    if path.suffix == ".zip":
        with tempfile.TemporaryDirectory(prefix="steelyard-crate-") as place, replace_file(path) as part:
            _pack(_make(findings, Path(place) / "crate", chosen), part)
        return path
    _write_directory(findings, path, chosen)
    return path


def _write_directory(findings: Findings, path: Path, publication: Publication) -> None:
    part = path.with_name(part_name(path.name))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            raise StoreError(f"{path} is there already", hint="choose another name with -o")
        _make(findings, part, publication)
        part.chmod(0o755)
        part.rename(path)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from error
    finally:
        with suppress(OSError):
            shutil.rmtree(part)


def _make(findings: Findings, folder: Path, publication: Publication) -> Path:
    copy_record(findings.record.folder.path, folder)
    write_csv(findings.record, folder / "figures.csv")
    html.write(findings, folder / "report.html")
    files = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    with guard_record(findings.record.id):
        document = make_data_printable(describe_crate(findings, publication, files))
    RunFolder(folder).crate_file.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", "utf-8")
    return folder


def _pack(folder: Path, target: Path) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder))
