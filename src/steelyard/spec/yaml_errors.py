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
    """One error of the parser: what it was doing since index `since`, what it met at index `at`."""

    doing: str
    problem: str
    since: int
    at: int
    text: str

    @property
    def began(self) -> SourceMark:
        """Where the parser began what it was doing."""
        return self.place(self.since)

    @property
    def mark(self) -> SourceMark:
        """Where it stopped."""
        return self.place(self.at)

    @property
    def found(self) -> str:
        """What stood in the way, for people."""
        match = _FOUND.search(self.problem)
        token = match[1].strip("(),") if match else ""
        return _TOKENS.get(token, token)

    @property
    def before(self) -> str:
        """The line up to where it stopped."""
        return _LINE_END.split(self.text[: self.at])[-1]

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
        if sign in failure.problem or sign in failure.doing:
            return rule(failure)
    return failure.mark, f"not valid YAML: {failure.problem}"


def _explain_character(failure: _Failure) -> Answer:
    if "'\\t'" in failure.problem:
        return failure.mark, "found a tab; indent and separate with spaces"
    character = failure.text[failure.at : failure.at + 1]
    return failure.mark, f"a value cannot begin with {character!r}; quote it if it is meant as text"


def _explain_missing_colon(failure: _Failure) -> Answer:
    return failure.began, _describe_missing_colon(failure.rest(failure.since))


def _describe_missing_colon(line: str) -> str:
    return f"': ' is missing in {quote_text(line)}; a line is 'key: value'"


def _explain_colon(failure: _Failure) -> Answer:
    if ": " in failure.before:
        return failure.mark, _SECOND_COLON
    indented = SourceMark(failure.mark.line, _count_indent(failure.before) + 1)
    return _explain_colon_above(failure) or (
        indented,
        "a key cannot stand here; is it indented too far, or does the line before go on?",
    )


def _explain_colon_above(failure: _Failure) -> Answer | None:
    """Whether the key's mistake is that of the line above, which should have been a key as well."""
    above = enumerate(_LINE_END.split(failure.text[: failure.at])[:-1], 1)
    number, line = max(((n, line) for n, line in above if _CONTENT.match(line)), default=(0, ""))
    if not line or ": " in line or _count_indent(line) < _count_indent(failure.before):
        return None
    return SourceMark(number, _count_indent(line) + 1), _describe_missing_colon(line.split(" #")[0].strip())


def _count_indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _explain_list_item(failure: _Failure) -> Answer:
    return failure.mark, "a list item '- ' cannot begin here; begin it on a line of its own"


def _explain_flow(failure: _Failure) -> Answer:
    bracket, closing = ("[", "]") if "sequence" in failure.doing else ("{", "}")
    line = failure.mark.line
    if failure.found in {"'{'", "'['"}:
        return _explain_bare_bracket(failure)
    if failure.found == "':'" and line == failure.began.line:
        return failure.mark, _SECOND_COLON
    if failure.found == "the end of the file":
        return failure.began, f"'{bracket}' is never closed"
    if failure.found in {"':'", "'---'", "'...'"}:
        return failure.began, f"'{bracket}' is not closed before line {line}"
    return failure.mark, f"expected ',' or '{closing}', found {failure.found}"


def _explain_bare_bracket(failure: _Failure) -> Answer:
    """A bracket inside an unquoted text, most often that of a parameter."""
    word = _WORD.search(failure.before)
    start = failure.at - (len(word[0]) if word else 0)
    if not failure.before.endswith("$"):
        message = f"{failure.found} inside a text within brackets; put the whole text in quotes"
        return failure.place(start), message
    whole = _PARAMETER.match(failure.text, start)
    text = whole[0].removesuffix(":") if whole else "${name}"
    return failure.place(start), f'${{…}} within brackets must be quoted; quote it: "{text}"'


def _explain_quote(failure: _Failure) -> Answer:
    return failure.began, f"the quote {failure.text[failure.since]} is never closed"


def _explain_escape(failure: _Failure) -> Answer:
    return failure.mark, r"invalid escape in double quotes; use single quotes, or write '\\' for a '\'"


def _explain_block_end(failure: _Failure) -> Answer:
    if failure.before.strip():
        return failure.mark, f"{failure.found} follows a complete value; quote the whole value"
    kind = "list" if "collection" in failure.doing else "mapping"
    return failure.mark, (
        f"this line does not fit the {kind} that began on line {failure.began.line}; check its indentation"
    )


def _explain_no_value(failure: _Failure) -> Answer:
    if failure.found == "the end of the file":
        return failure.mark, "the file ends where a value is expected; is a bracket left open?"
    return failure.mark, f"expected a value, found {failure.found}"


def _explain_name(failure: _Failure) -> Answer:
    sign = "*" if "alias" in failure.doing else "&"
    return failure.began, f"'{sign}' begins an {failure.doing.split()[-1]}; quote a text that begins with it"


def _explain_block_text(failure: _Failure) -> Answer:
    sign = failure.text[failure.since]
    return failure.began, f"'{sign}' begins a text of several lines; quote a text that begins with it"


def _explain_tag(failure: _Failure) -> Answer:
    name = failure.rest(failure.since).split()[0]
    return (
        failure.began,
        f"tag {quote_text(name, 60)} is not allowed; a file only describes, it never runs code",
    )


def _explain_directive(failure: _Failure) -> Answer:
    return failure.mark, "a line that begins with '%' asks for other rules; remove it"


def _explain_second_root(failure: _Failure) -> Answer:
    if failure.found == "the end of the file":
        return failure.mark, "the file ends before it says anything"
    if failure.found == "a key" and (answer := _explain_colon_above(failure)):
        return answer
    return failure.mark, f"{failure.found} follows where the file should end; quote the whole value"


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
