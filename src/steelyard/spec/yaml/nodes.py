"""The events of a YAML parser to a tree that knows where each value stands.

Nothing is constructed but plain values, and the tree is bounded: so many nodes, so deep, aliases
counted as what they stand for. Whoever reads a stranger's file needs no other defence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    ScalarEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from steelyard.model.expression.error import quote_text
from steelyard.spec.problem import Problems, SourceMark
from steelyard.spec.yaml.scalars import SCALAR_TAGS, Scalar, ScalarError, resolve, tag_name

MAX_DEPTH = 50
MAX_BRACKETS = 10
"""Depth of `[ ]` and `{ }` in each other: the parser's time per word grows with it."""
MAX_NODES = 20_000
MAX_SCALAR = 32 * 1024
"""Characters of one text."""

_WEIGHT = 100
"""So many characters of text count as one more node; else aliases could repeat a long text endlessly."""

_EMPTY = "the file is empty; `steelyard init` writes an example"
_TAGS = {"!!seq", "!!map", *SCALAR_TAGS}
_KINDS = {type(None): "null", bool: "a truth value", int: "a number", float: "a number"}


@dataclass(slots=True)
class YamlNode:
    """A scalar (`entries` is None) or a list or mapping; `weight` and `height` count what is below."""

    value: Scalar = None
    entries: dict[str | int, YamlEntry] | None = None
    is_list: bool = False
    weight: int = 1
    height: int = 0

    def to_data(self) -> Any:
        """The value as dict, list and scalars, all fresh: changing one alias changes no other."""
        if self.entries is None:
            return self.value
        if self.is_list:
            return [entry.node.to_data() for entry in self.entries.values()]
        return {key: entry.node.to_data() for key, entry in self.entries.items()}


class YamlEntry(NamedTuple):
    """A node in its place: where its key stands (in a list: itself) and where its value begins."""

    key: SourceMark
    value: SourceMark
    node: YamlNode


def convert_mark(position: Any) -> SourceMark:
    """The place of a parser's mark, which counts from 0."""
    return SourceMark(position.line + 1, position.column + 1)


@dataclass
class Composer:
    """Builds the tree of the one document that `events` describe, noting problems on its way.

    Raises SourceError, through `problems`, where it cannot go on; problems that let it go on are only
    noted, so that a reader sees all of them at once.
    """

    events: Iterator[Any]
    problems: Problems
    _anchors: dict[str, YamlNode | None] = field(default_factory=dict)
    _weight: int = 0
    _brackets: int = 0

    def compose(self) -> YamlEntry:
        """The root of the document; there must be exactly one."""
        next(self.events)
        start = next(self.events)
        if isinstance(start, StreamEndEvent):
            self.problems.stop(SourceMark(1, 1), _EMPTY)
        self._check_directives(start)
        root = self._compose_entry(next(self.events), 1)
        next(self.events)
        rest = next(self.events)
        if not isinstance(rest, StreamEndEvent):
            self.problems.stop(
                convert_mark(rest.start_mark), "a second document begins here; a file contains one experiment"
            )
        if root.node.entries is None and root.node.value is None:
            self.problems.add(SourceMark(1, 1), _EMPTY)
        return root

    def _check_directives(self, start: DocumentStartEvent) -> None:
        if start.tags or start.version not in {None, (1, 2)}:
            self.problems.stop(
                SourceMark(1, 1),
                "the file requests rules other than YAML 1.2; remove the lines that begin with '%'",
            )

    def _compose_entry(self, event: Any, depth: int, key: SourceMark | None = None) -> YamlEntry:
        mark = convert_mark(event.start_mark)
        return YamlEntry(key or mark, mark, self._compose_node(event, mark, depth))

    def _compose_node(self, event: Any, mark: SourceMark, depth: int) -> YamlNode:
        if depth > MAX_DEPTH:
            self.problems.stop(mark, f"nested more than {MAX_DEPTH} deep")
        if isinstance(event, AliasEvent):
            return self._resolve_alias(event.anchor, mark, depth)
        node = YamlNode()
        if event.anchor:
            self._anchors[event.anchor] = None
        self._fill(node, event, mark, depth)
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _fill(self, node: YamlNode, event: Any, mark: SourceMark, depth: int) -> None:
        before = self._weight
        if isinstance(event, ScalarEvent):
            node.value = self._compose_scalar(event, mark)
        else:
            self._collect(node, event, mark, depth)
        node.weight = self._weight - before

    def _collect(self, node: YamlNode, event: Any, mark: SourceMark, depth: int) -> None:
        self._count(1, mark)
        self._brackets += bool(event.flow_style)
        if self._brackets > MAX_BRACKETS:
            self.problems.stop(mark, f"brackets nested more than {MAX_BRACKETS} deep")
        node.is_list = isinstance(event, SequenceStartEvent)
        self._check_tag(event, mark, is_list=node.is_list)
        node.entries = dict(self._compose_items(depth) if node.is_list else self._compose_pairs(depth))
        node.height = 1 + max((entry.node.height for entry in node.entries.values()), default=0)
        self._brackets -= bool(event.flow_style)

    def _count(self, weight: int, mark: SourceMark, reason: str = "split it") -> None:
        self._weight += weight
        if self._weight > MAX_NODES:
            self.problems.stop(mark, f"the file contains more than {MAX_NODES:,} values; {reason}")

    def _resolve_alias(self, name: str, mark: SourceMark, depth: int) -> YamlNode:
        node = self._anchors.get(name)
        if node is None:
            self.problems.add(mark, self._describe_missing_anchor(name))
            return YamlNode()
        self._count(
            node.weight, mark, "an alias counts as what it repeats, and this one looks like an alias bomb"
        )
        if depth + node.height > MAX_DEPTH:
            self.problems.stop(mark, f"nested more than {MAX_DEPTH} deep through the alias '*{name}'")
        return node

    def _describe_missing_anchor(self, name: str) -> str:
        if name in self._anchors:
            return f"alias '*{name}' is inside the value that it repeats"
        return f"alias '*{name}' has no anchor '&{name}' before it; quote it if it is meant as text"

    def _compose_items(self, depth: int) -> Iterator[tuple[str | int, YamlEntry]]:
        index = 0
        while not isinstance(event := next(self.events), CollectionEndEvent):
            yield index, self._compose_entry(event, depth + 1)
            index += 1

    def _compose_pairs(self, depth: int) -> Iterator[tuple[str | int, YamlEntry]]:
        seen: dict[str, SourceMark] = {}
        while not isinstance(event := next(self.events), CollectionEndEvent):
            mark = convert_mark(event.start_mark)
            key = self._compose_node(event, mark, depth + 1)
            entry = self._compose_entry(next(self.events), depth + 1, mark)
            problem = _key_problem(key, event, seen)
            if problem:
                self.problems.add(mark, problem)
            else:
                seen[str(key.value)] = mark
                yield str(key.value), entry

    def _compose_scalar(self, event: ScalarEvent, mark: SourceMark) -> Scalar:
        text: str = event.value
        self._count(1 + len(text) // _WEIGHT, mark)
        if len(text) > MAX_SCALAR:
            self.problems.stop(
                mark, f"a text has {len(text):,} characters; at most {MAX_SCALAR:,} are allowed"
            )
        try:
            return self._resolve_scalar(event, text, mark)
        except ScalarError as error:
            self.problems.add(mark, str(error))
            return text

    def _resolve_scalar(self, event: ScalarEvent, text: str, mark: SourceMark) -> Scalar:
        if event.tag is None:
            return resolve(text) if event.implicit[0] else text
        name = tag_name(event.tag)
        if name in SCALAR_TAGS:
            return SCALAR_TAGS[name](text)
        self._refuse_tag(name, mark, "text")
        return text

    def _check_tag(self, event: Any, mark: SourceMark, *, is_list: bool) -> None:
        name = tag_name(event.tag) if event.tag is not None else ""
        if name not in {"", "!!seq" if is_list else "!!map"}:
            self._refuse_tag(name, mark, "a list" if is_list else "a mapping")

    def _refuse_tag(self, name: str, mark: SourceMark, found: str) -> None:
        if name in _TAGS:
            self.problems.add(mark, f"tag '{name}' does not match {found}")
        else:
            reason = "experiment files never run code"
            self.problems.add(mark, f"tag {quote_text(name, 60)} is not allowed; {reason}")


def _key_problem(key: YamlNode, event: Any, seen: dict[str, SourceMark]) -> str:
    """What is wrong with a key, or nothing."""
    if not isinstance(event, ScalarEvent):
        kind = "an alias" if isinstance(event, AliasEvent) else "a list or mapping"
        return f"a key must be text, found {kind}"
    if not isinstance(key.value, str):
        return _describe_non_text(event.value, key.value)
    if key.value == "<<" and event.implicit[0]:
        return "merge keys '<<' are not part of YAML 1.2; repeat the keys here"
    first = seen.get(key.value)
    return f"key {quote_text(key.value)} was already given on line {first.line}" if first else ""


def _describe_non_text(written: str, value: Scalar) -> str:
    if not written:
        return "a key is missing before ':'"
    return f'a key must be text, {written} is {_KINDS[type(value)]}; quote it: "{written}"'
