"""What a YAML parser cannot read, in plain words: one place, one sentence, and what to do about it.

The parser (ruamel.yaml) says what it was doing (`context`) and what stood in its way (`problem`), in terms
of its own tokens. The rules below know the mistakes people make; what none of them knows is quoted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ruamel.yaml.error import MarkedYAMLError

from steelyard.model.expression.error import quote_text
from steelyard.spec.problem import SourceMark

_LINE_END = re.compile(r"\r\n|\r|\n")
_CONTENT = re.compile(r"\s*[^\s#]")
_WORD = re.compile(r"[^,\[\]{}\s]*$")
_SECOND_COLON = "a second ':' in one value; quote the value if the ':' is part of it"
_FOUND = re.compile(r"(?:but )?(?:found|got) (.*)", re.DOTALL)
_PARAMETER = re.compile(r"(?:\$\{[^}\n]*\}|[^,\[\]{}\s])+")
_TOKENS = {
    "'<stream end>'": "the end of the file",
    "'<document start>'": "'---'",
    "'<document end>'": "'...'",
    "'<scalar>'": "more text",
    "'<block mapping start>'": "a key",
    "'?'": "a key",
    "'<block sequence start>'": "a list item",
    "'\\x00'": "the end of the file",
    "'\\n'": "the end of the line",
}

Answer = tuple[SourceMark, str]


@dataclass(frozen=True)
class _Failure:
    """One error of the parser: what it was doing since index `start_index`, what it met at index
    `stop_index`.
    """

    context: str
    problem: str
    start_index: int
    stop_index: int
    text: str

    @property
    def start_mark(self) -> SourceMark:
        """Where the parser began what it was doing."""
        return self.place(self.start_index)

    @property
    def mark(self) -> SourceMark:
        """Where it stopped."""
        return self.place(self.stop_index)

    @property
    def unexpected(self) -> str:
        """What stood in the way, for people."""
        match = _FOUND.search(self.problem)
        token = match[1].strip("(),") if match else ""
        return _TOKENS.get(token, token)

    @property
    def line_prefix(self) -> str:
        """The line up to where it stopped."""
        return _LINE_END.split(self.text[: self.stop_index])[-1]

    def place(self, index: int) -> SourceMark:
        """The place of an index in the text."""
        lines = _LINE_END.split(self.text[:index])
        return SourceMark(len(lines), len(lines[-1]) + 1)

    def rest(self, index: int) -> str:
        """What stands from an index to the end of its line, without a comment."""
        return _LINE_END.split(self.text[index:], maxsplit=1)[0].split(" #")[0].strip()


def explain(error: MarkedYAMLError, text: str) -> Answer:
    """The place to look at and what is wrong there."""
    place = error.problem_mark or error.context_mark
    at = place.index if place else 0
    since = error.context_mark.index if error.context_mark else at
    failure = _Failure(error.context or "", error.problem or "", since, at, text)
    for sign, rule in _RULES:
        if sign in failure.problem or sign in failure.context:
            return rule(failure)
    return failure.mark, f"not valid YAML: {failure.problem}"


def _explain_character(failure: _Failure) -> Answer:
    if "'\\t'" in failure.problem:
        return failure.mark, "found a tab; indent and separate with spaces"
    character = failure.text[failure.stop_index : failure.stop_index + 1]
    return failure.mark, f"a value cannot begin with {character!r}; quote it if it is meant as text"


def _explain_missing_colon(failure: _Failure) -> Answer:
    return failure.start_mark, _describe_missing_colon(failure.rest(failure.start_index))


def _describe_missing_colon(line: str) -> str:
    return f"': ' is missing in {quote_text(line)}; a line is 'key: value'"


def _explain_colon(failure: _Failure) -> Answer:
    if ": " in failure.line_prefix:
        return failure.mark, _SECOND_COLON
    indented = SourceMark(failure.mark.line, _count_indent(failure.line_prefix) + 1)
    return _explain_colon_above(failure) or (
        indented,
        "a key is not allowed here; is it indented too far, or does the previous line continue?",
    )


def _explain_colon_above(failure: _Failure) -> Answer | None:
    """Whether the key's mistake is that of the line above, which should have been a key as well."""
    above = enumerate(_LINE_END.split(failure.text[: failure.stop_index])[:-1], 1)
    number, line = max(((n, line) for n, line in above if _CONTENT.match(line)), default=(0, ""))
    if not line or ": " in line or _count_indent(line) < _count_indent(failure.line_prefix):
        return None
    return SourceMark(number, _count_indent(line) + 1), _describe_missing_colon(line.split(" #")[0].strip())


def _count_indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _explain_list_item(failure: _Failure) -> Answer:
    return failure.mark, "a list item '- ' cannot begin here; put it on its own line"


def _explain_flow(failure: _Failure) -> Answer:
    bracket, closing = ("[", "]") if "sequence" in failure.context else ("{", "}")
    line = failure.mark.line
    if failure.unexpected in {"'{'", "'['"}:
        return _explain_bare_bracket(failure)
    if failure.unexpected == "':'" and line == failure.start_mark.line:
        return failure.mark, _SECOND_COLON
    if failure.unexpected == "the end of the file":
        return failure.start_mark, f"'{bracket}' is never closed"
    if failure.unexpected in {"':'", "'---'", "'...'"}:
        return failure.start_mark, f"'{bracket}' is not closed before line {line}"
    return failure.mark, f"expected ',' or '{closing}', found {failure.unexpected}"


def _explain_bare_bracket(failure: _Failure) -> Answer:
    """A bracket inside an unquoted text, most often that of a parameter."""
    word = _WORD.search(failure.line_prefix)
    start = failure.stop_index - (len(word[0]) if word else 0)
    if not failure.line_prefix.endswith("$"):
        message = f"{failure.unexpected} in unquoted text within brackets; quote the entire text"
        return failure.place(start), message
    whole = _PARAMETER.match(failure.text, start)
    text = whole[0].removesuffix(":") if whole else "${name}"
    return failure.place(start), f'${{…}} within brackets must be quoted; quote it: "{text}"'


def _explain_quote(failure: _Failure) -> Answer:
    return failure.start_mark, f"the quote {failure.text[failure.start_index]} is never closed"


def _explain_escape(failure: _Failure) -> Answer:
    return failure.mark, r"invalid escape in double quotes; use single quotes, or write '\\' for a '\'"


def _explain_block_end(failure: _Failure) -> Answer:
    if failure.line_prefix.strip():
        return failure.mark, f"{failure.unexpected} follows a complete value; quote the entire value"
    kind = "list" if "collection" in failure.context else "mapping"
    began = failure.start_mark.line
    return (
        failure.mark,
        f"this line does not match the {kind} that began on line {began}; check its indentation",
    )


def _explain_no_value(failure: _Failure) -> Answer:
    if failure.unexpected == "the end of the file":
        return failure.mark, "the file ends where a value is expected; is a bracket left open?"
    return failure.mark, f"expected a value, found {failure.unexpected}"


def _explain_name(failure: _Failure) -> Answer:
    sign = "*" if "alias" in failure.context else "&"
    return (
        failure.start_mark,
        f"'{sign}' starts an {failure.context.split()[-1]}; quote text that begins with it",
    )


def _explain_block_text(failure: _Failure) -> Answer:
    sign = failure.text[failure.start_index]
    return failure.start_mark, f"'{sign}' starts a multi-line text; quote text that begins with it"


def _explain_tag(failure: _Failure) -> Answer:
    name = failure.rest(failure.start_index).split()[0]
    return (
        failure.start_mark,
        f"tag {quote_text(name, 60)} is not allowed; experiment files never run code",
    )


def _explain_directive(failure: _Failure) -> Answer:
    return failure.mark, "a line that begins with '%' is a YAML directive; remove it"


def _explain_second_root(failure: _Failure) -> Answer:
    if failure.unexpected == "the end of the file":
        return failure.mark, "the file has no content"
    if failure.unexpected == "a key" and (answer := _explain_colon_above(failure)):
        return answer
    return failure.mark, f"{failure.unexpected} follows where the file should end; quote the entire value"


_RULES: tuple[tuple[str, Callable[[_Failure], Answer]], ...] = (
    ("cannot start any token", _explain_character),
    ("could not find expected ':'", _explain_missing_colon),
    ("mapping values are not allowed", _explain_colon),
    ("sequence entries are not allowed", _explain_list_item),
    ("expected ',' or", _explain_flow),
    ("found unexpected end of stream", _explain_quote),
    ("found unexpected document separator", _explain_quote),
    ("found undefined tag handle", _explain_tag),
    ("escape", _explain_escape),
    ("expected <block end>", _explain_block_end),
    ("expected the node content", _explain_no_value),
    ("while scanning an alias", _explain_name),
    ("while scanning an anchor", _explain_name),
    ("while scanning a block scalar", _explain_block_text),
    ("while scanning a directive", _explain_directive),
    ("found incompatible YAML document", _explain_directive),
    ("expected '<document start>'", _explain_second_root),
)
