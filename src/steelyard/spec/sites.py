"""From the name of a site to the site: `slurm:4`, or an entry of a `sites.yaml`.

::

    # sites.yaml
    lab:     {use: ssh, hosts: [alice@node1, node2]}
    cluster: {use: slurm, nodes: 4, partition: cpu, time: 2h}

An entry in the project's `sites.yaml` (in the working directory) wins over one in the user's
`~/.config/steelyard/sites.yaml`. The latter may also name a plug-in, whose defaults an entry such as
`slurm: {use: slurm, account: physics}` thereby sets. The project's may not: what `slurm` means is no affair
of the directory that one happens to be in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from steelyard.errors import SpecError, UnknownName, UsageError
from steelyard.plugins import exists, find, names
from steelyard.sites.base import Site
from steelyard.spec.faults import explain_errors
from steelyard.spec.problem import Problem
from steelyard.spec.yaml.source import Source, read_bytes, read_content
from steelyard.trust import check_ownership, find_config

FILE = "sites.yaml"
_TAKEN = "site '{name}' is built in; choose another name, or set its defaults in ~/.config/steelyard"


@dataclass(frozen=True, slots=True)
class NamedSite:
    """A site as it was asked for: `name` is what was said, which records and tables call it by.

    `notes` are sentences on why it is this one, where nobody named it.
    """

    name: str
    site: Site[Any]
    notes: tuple[str, ...] = ()


def site_class(name: str) -> type[Site[Any]]:
    """The class of a site. Raises UnknownName, PlugInError."""
    return find("sites", name, Site)  # type: ignore[type-abstract]


def resolve(text: str) -> NamedSite:
    """The site of `NAME` or `NAME:ARGUMENT`. Raises UnknownName, SpecError, UsageError, PlugInError."""
    name, colon, argument = text.partition(":")
    source, entry = _find_entry(name)
    use = str(entry.get("use", name))
    if not exists("sites", use):
        raise _unknown_site(name if not entry else use)
    kind = site_class(use)
    options = {key: value for key, value in entry.items() if key != "use"}
    if colon:
        options |= kind.parse_shorthand(argument)
    return NamedSite(text, _make_site(kind, text, options, source))


def site_names() -> list[str]:
    """All names that `--site` knows: plug-ins, and entries of the files."""
    return sorted({*names("sites"), *(name for source in _read_sources() for name in source.value)})


def _make_site(
    kind: type[Site[Any]], text: str, options: Mapping[str, Any], source: Source | None
) -> Site[Any]:
    try:
        return kind(kind.Options.model_validate(options))
    except ValidationError as error:
        mistakes = explain_errors(error, options, kind.Options)
        if source is None:
            raise SpecError(f"site {text}: {fault.message}" for fault in mistakes) from error
        name = text.partition(":")[0]
        marks = [(source.locate((name, *fault.path), key=fault.at_key), fault.message) for fault in mistakes]
        raise SpecError(
            sorted(Problem(source.name, mark.line, mark.column, message) for mark, message in marks)
        ) from error


def _find_entry(name: str) -> tuple[Source | None, Mapping[str, Any]]:
    for source in _read_sources(name):
        if name in source.value:
            entry = source.value[name]
            if not isinstance(entry, Mapping):
                mark = source.locate((name,))
                raise SpecError(
                    [Problem(source.name, mark.line, mark.column, f"site '{name}' is not a mapping")]
                )
            return source, entry
    return None, {}


def _read_sources(name: str = "") -> Iterator[Source]:
    """The files that are there, the project's first. They can name programs, so they must be ours alone.

    Whose the project's is does not matter to a `name` that it may not redefine anyway.
    """
    for path in (Path(FILE), find_config(FILE)):
        if not path.is_file():
            continue
        try:
            check_ownership(path, "the sites file")
        except UsageError:
            if path.is_absolute() or not exists("sites", name):
                raise
            continue
        yield _read_source(path)


def _read_source(path: Path) -> Source:
    source = read_bytes(read_content(path), str(path))
    if not isinstance(source.value, Mapping):
        raise UsageError(f"{path} is not a mapping of site names to their options")
    builtin = set() if path.is_absolute() else names("sites")
    taken = [name for name in source.value if name in builtin]
    if taken:
        marks = ((name, source.locate((name,), key=True)) for name in taken)
        raise SpecError(
            Problem(source.name, mark.line, mark.column, _TAKEN.format(name=name)) for name, mark in marks
        )
    return source


def _unknown_site(name: str) -> UnknownName:
    hint = f"sites are {', '.join(site_names())}; {FILE} here or in ~/.config/steelyard defines your own"
    return UnknownName("site", name, site_names(), hint=hint)
