"""Write experiments as files, and change files, keeping their comments."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from steelyard.errors import UnknownName, UsageError
from steelyard.model.experiment import Experiment
from steelyard.model.trial import Scalar
from steelyard.spec.load import load, load_source
from steelyard.spec.yaml.source import read


def load_tree(tree: Mapping[str, Any], name: str = "the command line") -> tuple[Experiment, str]:
    """The checked experiment of a tree made by a program, and the same as a file's text. Raises SpecError."""
    text = dump(tree)
    return load_source(read(text, name)), text


def load_changed(
    path: Path, changes: Mapping[str, Any], levels: Mapping[str, Sequence[Scalar]]
) -> tuple[Experiment, str]:
    """A file's experiment and text, with what `apply_changes` replaces. Raises as `load` and
    `apply_changes`."""
    experiment, text = load(path)
    if changes or levels:
        experiment, text = apply_changes(text, str(path), changes, levels, path.absolute().parent)
    return experiment, text


def apply_changes(
    text: str,
    name: str,
    changes: Mapping[str, Any],
    levels: Mapping[str, Sequence[Scalar]] | None = None,
    folder: Path | None = None,
) -> tuple[Experiment, str]:
    """A sound file's experiment and text, with some top-level keys and levels of some parameters replaced; a
    mapping adds to one that is there. `folder` is that of the file.

    Raises SpecError, and UnknownName for a parameter that it does not have.
    """
    yaml = _make_yaml()
    tree = yaml.load(text)
    for key, new in changes.items():
        tree[key] = {**(tree.get(key) or {}), **new} if isinstance(new, Mapping) else new
    for parameter, new in (levels or {}).items():
        if parameter not in (tree.get("parameters") or {}):
            raise UnknownName("parameter", parameter, tree.get("parameters") or {})
        tree["parameters"][parameter] = list(new)
    return _dump_checked(yaml, tree, name, folder)


def extend_experiment(
    text: str,
    name: str,
    levels: Mapping[str, Sequence[Scalar]],
    repeat: int | None,
    folder: Path | None = None,
) -> tuple[Experiment, str]:
    """A sound file's experiment with more levels or repetitions; `folder` is that of the file.

    Raises UsageError and SpecError.
    """
    experiment = load_source(read(text, name), folder)
    yaml = _make_yaml()
    tree = yaml.load(text)
    for parameter, new in levels.items():
        tree["parameters"][parameter] = _add_levels(experiment, parameter, new)
    if repeat is not None:
        if repeat <= experiment.repeat.at_least:
            raise UsageError(
                f"the run has {experiment.repeat.at_least} repetitions already; choose a higher number"
            )
        tree["repeat"] = repeat
    return _dump_checked(yaml, tree, name, folder)


def name_folder(text: str, folder: Path) -> str:
    """A sound file's text with `dir`, so that it finds what lies in `folder`, its own, from anywhere."""
    yaml = _make_yaml()
    tree = yaml.load(text)
    place = str(folder / str(tree.pop("dir", "")))
    tree.insert(list(tree).index("experiment") + 1, "dir", place)
    return _write(yaml, tree)


def dump(tree: Mapping[str, Any]) -> str:
    """A tree as the text of an experiment file."""
    yaml = _make_yaml()
    yaml.default_flow_style = False
    yaml.representer.ignore_aliases = lambda _: True
    return _write(yaml, dict(tree))


def _make_yaml() -> YAML:
    """Keeps comments, and lines as long as they are."""
    yaml = YAML()
    yaml.width = 1 << 16
    return yaml


def _add_levels(experiment: Experiment, parameter: str, new: Sequence[Scalar]) -> list[Scalar]:
    if parameter not in experiment.parameters:
        raise UnknownName("parameter", parameter, experiment.parameters)
    if experiment.find and parameter == experiment.find.parameter:
        hint = "for other bounds, start a new run; `--repeat` makes the verdicts more certain"
        raise UsageError(
            f"'{parameter}' is searched by 'find'; it has bounds, not levels that can be added to", hint=hint
        )
    known = experiment.parameters[parameter].values()
    if not known:
        raise UsageError(f"'{parameter}' is drawn by 'sample'; its levels cannot be extended")
    return list(dict.fromkeys([*known, *new]))


def _dump_checked(yaml: YAML, tree: Any, name: str, folder: Path | None) -> tuple[Experiment, str]:
    text = _write(yaml, tree)
    return load_source(read(text, name), folder), text


def _write(yaml: YAML, tree: Any) -> str:
    stream = io.StringIO()
    yaml.dump(tree, stream)
    return stream.getvalue()
