from __future__ import annotations

import pytest

from steelyard.errors import UnknownName, UsageError
from steelyard.notices.targets import list_targets


@pytest.fixture(autouse=True)
def config(tmp_path, monkeypatch):
    """A home of the user's, with nothing in it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("STEELYARD_NOTIFY", raising=False)
    (tmp_path / "steelyard").mkdir(mode=0o700)
    return tmp_path / "steelyard" / "notify.yaml"


@pytest.mark.parametrize(
    ("text", "kind", "label"),
    [
        ("https://hooks.example.org/T0/secret", "webhook", "hooks.example.org"),
        ("ntfy:https://ntfy.example.org/secret", "ntfy", "ntfy.example.org"),
        ("cat -n 'a b'", "command", "cat"),
    ],
)
def test_kinds_are_told_apart_and_no_secret_is_shown(text, kind, label):
    (target,) = list_targets([text])
    assert (target.kind, target.label) == (kind, label)
    assert "secret" not in repr(target)
    assert "a b" not in repr(target)


def test_the_environment_names_one_a_line_and_the_option_wins(monkeypatch):
    monkeypatch.setenv("STEELYARD_NOTIFY", "cat\nhttps://a.example/x\n\n")
    assert [target.label for target in list_targets([])] == ["cat", "a.example"]
    assert [target.label for target in list_targets(["true"])] == ["true"]
    monkeypatch.delenv("STEELYARD_NOTIFY")
    assert list_targets([]) == []


def test_a_name_stands_for_a_target_of_the_users_file(config):
    config.write_text("phone: ntfy:https://ntfy.example.org/secret\n")
    config.chmod(0o600)
    assert list_targets(["phone"])[0].kind == "ntfy"
    with pytest.raises(UnknownName, match="phnoe"):
        list_targets(["phnoe"])


def test_a_file_that_others_may_write_is_refused(config):
    config.write_text("phone: cat\n")
    config.chmod(0o666)
    with pytest.raises(UsageError, match="not used"):
        list_targets(["phone"])


@pytest.mark.parametrize(
    "content", ["- a\n", "a: [1]\n", "a: {", "\x00", "!!python/object/apply:os.system [id]"]
)
def test_a_file_that_names_no_targets_is_said_to(config, content):
    config.write_text(content)
    config.chmod(0o600)
    with pytest.raises(UsageError, match=config.name):
        list_targets(["phone"])


@pytest.mark.parametrize(
    "text",
    [
        "ftp://a.example/",
        "file:///etc/passwd",
        "ntfy:phone",
        "http://",
        "http://a:99999/",
        "'unclosed",
        "no-such-program-x y",
    ],
)
def test_what_is_no_target_is_refused_before_a_run_begins(text):
    with pytest.raises((UsageError, UnknownName)):
        list_targets([text])
