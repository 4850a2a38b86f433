from __future__ import annotations

import contextlib
import os

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from steelyard.hosts.agent import wire
from steelyard.hosts.minder.words import split_words

odd = st.binary(max_size=20).map(lambda raw: raw.replace(b"\0", b"")) | st.lists(
    st.sampled_from([b"'", b"\\", b'"', b"$NL", b"\n", b" ", b"a", b"'\"$NL\"'", b"'\\''"]), max_size=8
).map(b"".join)


@given(st.lists(odd, min_size=1))
@example([b'"$NL"'])
@example([b"\\", b""])
def test_what_was_quoted_is_read(words: list[bytes]) -> None:
    line = wire.encode_request(map(os.fsdecode, words))
    assert split_words(line.removesuffix(b"\n")) == words


@pytest.mark.parametrize(
    "line", ["", " ", "a  b", "a ", " a", "'a", "a;b", "$(x)", '"a"', "\\a", "a\tb", "a\r", "'a'b", "a'b'"]
)
def test_what_is_not_of_the_protocol_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        split_words(line.encode())


@given(st.binary(max_size=60))
def test_no_bytes_whatever_are_read_as_something_else(line: bytes) -> None:
    with contextlib.suppress(ValueError):
        words = split_words(line)
        if b"\0" not in line and b"\n" not in line:
            assert split_words(wire.encode_request(map(os.fsdecode, words)).removesuffix(b"\n")) == words
