"""docs/reference/keys.md: every key of an experiment file, from its JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator

from scripts.pages.table import code, rows

from steelyard.model.experiment import Experiment
from steelyard.spec.keys import Key, explain_key

PATH = "reference/keys.md"
HEAD = """\
# Keys of an experiment file

`make pages` writes this page; `steelyard schema KEY` prints the same for one key, and for the options of a
catalogue entry (`steelyard schema ska1.outstanding`). `steelyard schema` prints the JSON Schema, from which
editors complete and check keys as you type.

Values with units are strings (`4MiB`, `30s`, `95%`). `${NAME}` stands for a parameter's level, a service's
address (`${kv.port}`) or other data of the run; quote it inside `{ }` and `[ ]`. A key that Steelyard does
not know is an error. `steelyard plan FILE` lists all problems of a file at once.

Each example is a piece of a file. The pages of the [catalogue](catalog/workloads.md) list the options of
workloads, [services](catalog/services.md), [events](catalog/events.md), [collectors](catalog/collectors.md)
and [sites](catalog/sites.md), which stand beside the keys below.
"""


def pages() -> dict[str, str]:
    """The page by its path in docs/."""
    keys = [explain_key(name) for name in Experiment.model_json_schema()["properties"]]
    links = " · ".join(f"[{key.path}](#{key.path})" for key in keys)
    sections = [line for key in keys for line in _section(key)]
    return {PATH: "\n".join([HEAD, links, *sections]) + "\n"}


def _section(key: Key) -> Iterator[str]:
    yield from ("", f"## {key.path}", "", _sentence(key.about), "")
    yield " ".join((f"Takes {_values(key.takes)}." if key.takes else "", _default(key))).strip()
    yield from ("", "```yaml", key.example, "```")
    inside = list(_walk(key))
    yield from rows(
        ("key inside", "takes", "default", ""),
        ((code(entry.path), _values(entry.takes), _cell(entry), entry.about) for entry in inside),
    )


def _walk(key: Key) -> Iterator[Key]:
    """All keys below one, each after the one that holds it."""
    for name in key.inside:
        below = explain_key(f"{key.path}.{name}")
        yield below
        yield from _walk(below)


def _values(takes: str) -> str:
    return code(takes) if " | " in takes and " or " not in takes else takes


def _default(key: Key) -> str:
    if key.default is None:
        return "Required."
    if key.default.startswith("see "):
        return "For defaults, see the keys inside."
    return "No default." if key.default == "nothing" else f"Default: `{key.default}`."


def _cell(key: Key) -> str:
    """Nothing where nothing holds without it."""
    if key.default is None:
        return "required"
    return "" if key.default == "nothing" or key.default.startswith("see ") else code(key.default)


def _sentence(text: str) -> str:
    return text if text.endswith((".", ":")) else f"{text}."
