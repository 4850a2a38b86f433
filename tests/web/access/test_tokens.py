"""Tokens last, are for their user's eyes, and are told from what somebody else planted."""

from __future__ import annotations

import json
import os

import pytest

from steelyard.errors import UsageError
from steelyard.web.access.tokens import Tokens, load_tokens


def find_file(home):
    (path,) = (home / "state" / "steelyard" / "web").iterdir()
    return path


def test_they_are_random_private_and_last(tmp_path, home):
    tokens = load_tokens(tmp_path)
    assert len(set(tokens)) == 2
    assert min(map(len, tokens)) >= 43, "256 bits"
    path = find_file(home)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert load_tokens(tmp_path) == tokens
    assert load_tokens(tmp_path / "another") != tokens
    assert load_tokens(tmp_path, renew=True) != tokens


@pytest.mark.parametrize("text", ["", "{", "[]", '{"act": "", "read": ""}', '{"act": 1}', "\xff"])
def test_what_is_none_is_made_anew(tmp_path, home, text):
    load_tokens(tmp_path)
    find_file(home).write_text(text, encoding="latin-1")
    assert min(map(len, load_tokens(tmp_path))) >= 43


def test_those_that_others_may_have_read_are_made_anew(tmp_path, home):
    tokens = load_tokens(tmp_path)
    find_file(home).chmod(0o644)
    assert load_tokens(tmp_path) != tokens


def test_a_link_is_not_followed(tmp_path, home):
    load_tokens(tmp_path)
    path, planted = find_file(home), tmp_path / "planted"
    planted.write_text(json.dumps(Tokens("x" * 43, "y" * 43)._asdict()))
    planted.chmod(0o600)
    path.unlink()
    path.symlink_to(planted)
    with pytest.raises(UsageError, match="link"):
        load_tokens(tmp_path)
    assert "x" * 43 in planted.read_text(), "nothing was written through it"


def test_a_directory_that_is_open_to_others_is_refused(tmp_path, home):
    place = home / "state" / "steelyard" / "web"
    place.mkdir(parents=True)
    place.chmod(0o755)
    with pytest.raises(UsageError, match="open to other accounts"):
        load_tokens(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_those_of_another_account_are_not_taken(tmp_path, home):
    tokens = load_tokens(tmp_path)
    os.chown(find_file(home), 65534, 65534)
    assert load_tokens(tmp_path) != tokens


def test_a_cookie_is_no_token_and_says_what_it_allows():
    tokens = Tokens("a" * 43, "r" * 43)
    for right in ("act", "read"):
        cookie = tokens.make_cookie(right)
        assert tokens.right_of_cookie(cookie) == right
        assert tokens.right_of(cookie) is None
    assert tokens.right_of_cookie(tokens.act) is None
    assert tokens.right_of("") is None
    assert tokens.right_of("\u00e9") is None
