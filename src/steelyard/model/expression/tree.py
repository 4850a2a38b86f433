"""Templates in a tree of dict, list and scalars: which names they ask for, and the tree for given ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from steelyard.model.expression.error import ExpressionError, Path
from steelyard.model.expression.evaluate import Names
from steelyard.model.expression.parser import Quantity
from steelyard.model.expression.template import Template

MAX_TEXTS = 1024 * 1024
"""Characters of all replaced texts of a tree; a small file could otherwise repeat a long level endlessly."""

Reader = Callable[[str], Template]


@dataclass(frozen=True)
class PreparedTree:
    """A tree whose templates are parsed, to be filled in for one cell after the other."""

    _tree: Any

    def value(self, names: Names) -> Any:
        """A fresh tree in which each `${…}` is replaced.

        Raises ExpressionError with the path of the text where it failed.
        """
        return _TreeFiller(names).fill(self._tree, ())


def prepare(tree: Any, quantity: Quantity | None = None) -> PreparedTree:
    """Parse the templates of a tree; keys are left as they are.

    Raises ExpressionError for the first that cannot be read, with its path.
    """
    return PreparedTree(_parse_tree(tree, (), _make_reader(quantity)))


def substitute(tree: Any, names: Names, quantity: Quantity | None = None) -> Any:
    """A fresh tree in which each `${…}` is replaced, keys apart; the types of Template hold.

    Raises ExpressionError with the path of the text where it failed. Use `prepare` to fill in one tree
    many times.
    """
    return prepare(tree, quantity).value(names)


def find_names(tree: Any, quantity: Quantity | None = None) -> Iterator[tuple[Path, str]]:
    """Each name that a template in the tree asks for, with the path of its text; sorted within a text.

    Raises ExpressionError, with its path, where a template cannot be read.
    """
    yield from _iter_names(_parse_tree(tree, (), _make_reader(quantity)), ())


def _iter_names(tree: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(tree, Template):
        yield from ((path, name) for name in sorted(tree.names))
    for step, part in _parts(tree):
        yield from _iter_names(part, (*path, step))


def _parts(tree: Any) -> Iterator[tuple[str | int, Any]]:
    if isinstance(tree, Mapping):
        yield from tree.items()
    elif isinstance(tree, list | tuple):
        yield from enumerate(tree)


def _make_reader(quantity: Quantity | None) -> Reader:
    """Reads templates, equal ones once: by an alias a small file can hold the same text very often."""
    return cache(partial(Template.parse, quantity=quantity))


def _parse_tree(tree: Any, path: Path, read: Reader) -> Any:
    """The tree with each text that holds '${' as a Template."""
    if isinstance(tree, str) and "${" in tree:
        return _parse_template(tree, path, read)
    return _rebuild(tree, {step: _parse_tree(part, (*path, step), read) for step, part in _parts(tree)})


def _rebuild(tree: Any, parts: dict[str | int, Any]) -> Any:
    """A dict or list with these parts, or the tree itself where it has no parts."""
    if isinstance(tree, list | tuple):
        return list(parts.values())
    return parts if isinstance(tree, Mapping) else tree


def _parse_template(text: str, path: Path, read: Reader) -> Template:
    try:
        return read(text)
    except ExpressionError as error:
        raise error.prepend_path(path) from None


class _TreeFiller:
    """Fills in one tree; `_room` is what is left of its texts."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._room = MAX_TEXTS

    def fill(self, tree: Any, path: Path) -> Any:
        if isinstance(tree, Template):
            return self._fill_text(tree, path)
        return _rebuild(tree, {step: self.fill(part, (*path, step)) for step, part in _parts(tree)})

    def _fill_text(self, template: Template, path: Path) -> Any:
        try:
            value = template.value(self._names)
        except ExpressionError as error:
            raise error.prepend_path(path) from None
        self._room -= len(value) if isinstance(value, str) else 0
        if self._room < 0:
            raise ExpressionError(f"the texts up to here exceed {MAX_TEXTS:,} characters in total", 1, path)
        return value
