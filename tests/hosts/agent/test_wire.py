from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.hosts.agent import wire

words = st.lists(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20), min_size=1
)


@given(words)
def test_a_shell_reads_what_was_quoted(given_words):
    script = 'NL="\n"; IFS= read -r line; eval "set -- $line"; for word; do printf "%s\\000" "$word"; done'
    read = subprocess.run(
        ["sh", "-c", script], input=wire.encode_request(given_words), capture_output=True, check=True
    )
    assert read.stdout == b"".join(word.encode() + b"\0" for word in given_words)


@given(words)
def test_a_request_is_one_line(given_words):
    assert wire.encode_request(given_words).count(b"\n") == 1


@given(words)
def test_a_script_gets_its_words(given_words):
    script = wire.build_script(given_words, 'printf "%s\\000" "$@"; printf %s "$more"', more="it's\nx")
    ran = subprocess.run(["sh", "-c", script], capture_output=True, check=True)
    assert ran.stdout == b"".join(word.encode() + b"\0" for word in given_words) + b"it's\nx"


def test_a_word_with_nul_is_refused():
    with pytest.raises(ValueError, match="NUL"):
        wire.quote("a\0b")


@given(st.binary(max_size=200))
def test_garbage_gives_only_wire_errors(raw):
    for parse in (
        wire.parse_hello,
        wire.parse_header,
        wire.parse_event,
        lambda raw: list(wire.parse_frames(raw)),
    ):
        try:
            parse(raw)
        except wire.WireError:
            continue


kinds = st.sampled_from(["done", "started", "failed", "exited"])
odd = st.sampled_from(["-", "0", "1", "-1", "1e9", "nan", "٣", "9" * 30, "x", "1.5", ""])


@given(kinds, st.lists(odd, max_size=12))
def test_an_event_is_understood_or_refused(kind, figures):
    line = " ".join([kind, "n1:1", *figures]).encode() + b"\n"
    try:
        found = wire.parse_event(line)
    except wire.WireError:
        return
    if isinstance(found, wire.Exited):
        assert (found.code is None) != (found.signal is None)
        assert found.leftovers >= 0


def test_events():
    assert wire.parse_event(b"done n1:1 124\n") == wire.Done("n1:1", 124)
    assert wire.parse_event(b"started n1:1 77\n") == wire.Started("n1:1", 77)
    assert wire.parse_event(b"failed n1:1 program ENOENT\n") == wire.Failed("n1:1", "program", "ENOENT")
    assert wire.parse_event(b"say it is so\n") == wire.Say("it is so")
    assert wire.parse_event(b"Warning: a banner\n") == wire.Say("Warning: a banner")
    told = wire.parse_event(b"exited n1:1 - 9 1.5 0.25 0.125 4096 5 6 2\n")
    assert told == wire.Exited("n1:1", None, 9, 1.5, 0.25, 0.125, 4096, 5, 6, 2)
    told = wire.parse_event(b"exited n1:1 0 - 1.5 0.25 0.125 <4096 5 - 0\n")
    assert told == wire.Exited("n1:1", 0, None, 1.5, 0.25, 0.125, 4096, 5, None, 0, peak_is_bound=True)


def test_frames():
    raw = b"2 3 /a\nx\ny6 0 /b c\nd\n"
    assert list(wire.parse_frames(raw)) == [("/a", b"x\ny"), ("/b c\nd", b"")]
    with pytest.raises(wire.WireError):
        list(wire.parse_frames(raw[:-1]))


def test_a_reply_is_not_believed_to_be_endless():
    with pytest.raises(wire.WireError):
        wire.parse_header(b"0 9999999999\n")
