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


@dataclass(frozen=True)
class PreparedTree:
    """A tree whose templates are parsed, to be filled in for one cell after the other."""

    tree: Any

    def value(self, names: Names) -> Any:
        """A fresh tree in which each `${…}` is replaced.

        Raises ExpressionError with the path of the text where it failed.
        """
        length = 0

        def fill(leaf: Any) -> Any:
            nonlocal length
            if not isinstance(leaf, Template):
                return leaf
            value = leaf.value(names)
            length += len(value) if isinstance(value, str) else 0
            if length > MAX_TEXTS:
                raise ExpressionError(f"the texts up to here exceed {MAX_TEXTS:,} characters in total", 1)
            return value

        return _convert_leaves(self.tree, fill)


def prepare(tree: Any, quantity: Quantity | None = None) -> PreparedTree:
    """Parse the templates of a tree; keys are left as they are.

    Raises ExpressionError for the first that cannot be read, with its path.
    """
    # Equal texts are read once: by an alias a small file can hold the same text very often.
    read = cache(partial(Template.parse, quantity=quantity))
    return PreparedTree(
        _convert_leaves(tree, lambda leaf: read(leaf) if isinstance(leaf, str) and "${" in leaf else leaf)
    )


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
    for path, leaf in _iter_leaves(prepare(tree, quantity).tree, ()):
        if isinstance(leaf, Template):
            yield from ((path, name) for name in sorted(leaf.names))


def _iter_leaves(tree: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if isinstance(tree, Mapping | list | tuple):
        for step, part in tree.items() if isinstance(tree, Mapping) else enumerate(tree):
            yield from _iter_leaves(part, (*path, step))
    else:
        yield path, tree


def _convert_leaves(tree: Any, convert: Callable[[Any], Any], path: Path = ()) -> Any:
    """A fresh tree of what `convert` makes of all but dicts and lists."""
    if isinstance(tree, Mapping):
        return {key: _convert_leaves(part, convert, (*path, key)) for key, part in tree.items()}
    if isinstance(tree, list | tuple):
        return [_convert_leaves(part, convert, (*path, index)) for index, part in enumerate(tree)]
    try:
        return convert(tree)
    except ExpressionError as error:
        raise error.prepend_path(path) from None
