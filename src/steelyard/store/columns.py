"""What the columns of a collector's table mean, as JSON beside it, which is read without the plug-in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steelyard.errors import StoreError
from steelyard.files import replace_whole
from steelyard.model.column import Column, ColumnKind
from steelyard.store.journal import write_failure
from steelyard.untrusted import read_content

MOST_COLUMNS = 10_000
_LONGEST = 400


def write_columns(columns: Mapping[str, Column], path: Path) -> None:
    """Write them whole or not at all. Raises StoreFull, StoreError."""
    document = {"columns": {name: column._asdict() for name, column in columns.items()}}
    try:
        with replace_whole(path, sync=True) as part:
            part.write_text(json.dumps(document, indent=1) + "\n")
    except OSError as error:
        raise write_failure(path, error) from error


def read_columns(path: Path) -> dict[str, Column]:
    """The columns by name or family; none where nothing was written. Raises StoreError."""
    try:
        columns = json.loads(read_content(path))["columns"]
        return {str(name)[:_LONGEST]: _parse(entry) for name, entry in list(columns.items())[:MOST_COLUMNS]}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(f"{path} is damaged: {type(error).__name__}: {error}") from error


def _parse(entry: Mapping[str, Any]) -> Column:
    kind: ColumnKind = "rate" if entry["kind"] == "rate" else "gauge"
    return Column(str(entry["unit"])[:_LONGEST], str(entry["about"])[:_LONGEST], kind)
