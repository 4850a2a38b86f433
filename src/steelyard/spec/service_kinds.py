"""A service that is a level: `use: "${kind}"`, and which options each kind has.

Options beside `use` are for every kind; those below the name of a kind, as in `redis: {save: true}`, are for
that one alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from steelyard.errors import suggest_name
from steelyard.model.experiment import Experiment
from steelyard.model.expression import ExpressionError, find_names, substitute
from steelyard.model.keys.plugin_use import is_file
from steelyard.model.keys.uses import ServiceUse
from steelyard.model.trial import Scalar
from steelyard.plugins import names
from steelyard.spec.faults import Fault


def is_level(use: ServiceUse) -> bool:
    """Whether parameters decide which service it is."""
    return "${" in use.use


def resolve_service(use: ServiceUse, levels: Mapping[str, Scalar]) -> ServiceUse:
    """The entry as it is in a cell. Raises ExpressionError."""
    if not is_level(use):
        return use
    kind = str(substitute({"use": use.use}, levels)["use"])
    common = {key: value for key, value in use.options.items() if key not in kinds_with_options(use)}
    return use.model_copy(update={"use": kind, "options": {**common, **_own_options(use, kind)}})


def variants(use: ServiceUse, experiment: Experiment) -> list[ServiceUse]:
    """What the entry may be, over all levels; nothing where that cannot be told, which is said elsewhere."""
    try:
        named = sorted({name for _, name in find_names({"use": use.use})})
        levels = [experiment.parameters[name].values() for name in named]
        uses = [resolve_service(use, dict(zip(named, chosen, strict=True))) for chosen in product(*levels)]
    except (ExpressionError, KeyError):
        return []
    return list({one.use: one for one in uses}.values())


def kinds_with_options(use: ServiceUse) -> set[str]:
    """The names of services below which options stand."""
    return (
        {key for key in use.options if is_file(key) or key in names("services")} if is_level(use) else set()
    )


def option_path(use: ServiceUse, kind: str, path: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """Where an option of a kind stands in the file."""
    return (kind, *path) if is_level(use) and path and path[0] in _own_options(use, kind) else path


def kind_faults(use: ServiceUse, experiment: Experiment) -> Iterator[Fault]:
    """Options for what the service never is."""
    kinds = [one.use for one in variants(use, experiment)]
    for key in sorted(kinds_with_options(use)):
        if key not in kinds and kinds:
            hint = suggest_name(key, kinds) or f"; it can be {' or '.join(kinds)}"
            yield Fault((key,), f"{key}: '{use.use}' is never {key}; remove its options{hint}", at_key=True)
        elif not isinstance(use.options[key], Mapping):
            yield Fault((key,), f"{key}: give a mapping of the options that only {key} has")


def option_hint(use: ServiceUse, experiment: Experiment, kind: str) -> str:
    """What to do about an option that this kind does not know, where the service is a level."""
    others = [one.use for one in variants(use, experiment) if one.use != kind] if is_level(use) else []
    return (
        f"{kind} has no such option; put options that only {' or '.join(others)} has under its name"
        if others
        else ""
    )


def _own_options(use: ServiceUse, kind: str) -> Mapping[str, Any]:
    options = use.options.get(kind, {})
    return options if isinstance(options, Mapping) else {}
