"""An experiment from a bare command: every argument that holds `{a,b,c}` or `{a..b}` becomes a parameter."""

from __future__ import annotations

import itertools
import re
from typing import Any

from steelyard.errors import UsageError
from steelyard.spec.levels import parse_level

_CHOICE = re.compile(r"\{([^{}]*,[^{}]*)\}|\{(-?\d+)\.\.(-?\d+)\}")


def build_experiment(words: tuple[str, ...]) -> dict[str, Any]:
    """The tree of an experiment that runs the words. Raises UsageError."""
    parameters: dict[str, list[Any]] = {}
    argv = [_replace_choices(words, index, parameters) for index in range(len(words))]
    title = re.sub(r"[^A-Za-z0-9._-]+", "-", words[0].rpartition("/")[2]).strip("-._") or "command"
    tree: dict[str, Any] = {"experiment": title[:40], "workload": {"use": "command", "run": argv}}
    if parameters:
        tree["parameters"] = parameters
    return tree


def _replace_choices(words: tuple[str, ...], index: int, parameters: dict[str, list[Any]]) -> str:
    """An argument with its choices replaced by names, which are entered into `parameters`."""

    def name_it(choice: re.Match[str]) -> str:
        name = _name_parameter(words, index, choice.start(), parameters)
        parameters[name] = _parse_levels(choice)
        return f"\0{name}\0"

    marked = _CHOICE.sub(name_it, words[index])
    plain = marked.replace("${", "$${")
    return re.sub("\0(.*?)\0", r"${\1}", plain)


def _name_parameter(words: tuple[str, ...], index: int, at: int, taken: dict[str, list[Any]]) -> str:
    """`n` for `--n {1,2}` and for `--n={1,2}`, else `arg1` for the first argument, and so on."""
    flag = words[index][:at].rstrip("=") or (words[index - 1] if index else "")
    match = re.fullmatch(r"--?([A-Za-z][\w-]*)", flag)
    stem = match[1].replace("-", "_") if match else f"arg{index}"
    names = itertools.chain([stem], (f"{stem}_{number}" for number in itertools.count(2)))
    return next(name for name in names if name not in taken)


def _parse_levels(choice: re.Match[str]) -> list[Any]:
    if choice[1] is None:
        low, high = int(choice[2]), int(choice[3])
        if abs(high - low) >= 10_000:
            raise UsageError(f"{choice[0]} has more than 10,000 levels")
        return list(range(low, high + 1)) if low <= high else list(range(low, high - 1, -1))
    levels = choice[1].split(",")
    doubled = [level for level in levels if levels.count(level) > 1]
    if doubled:
        raise UsageError(f"{choice[0]}: '{doubled[0]}' is listed twice")
    return [parse_level(level) for level in levels]
