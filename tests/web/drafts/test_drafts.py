"""Drafts: problems at their lines, a form that changes what it names alone, names that are names."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.controller.run import start
from steelyard.errors import SteelyardError, UnknownName
from steelyard.spec.load import load, load_source
from steelyard.spec.yaml.source import read
from steelyard.store.importing import Importer
from steelyard.store.layout import Store
from steelyard.store.reader import glance
from steelyard.web.drafts.check import check_draft
from steelyard.web.drafts.fields import apply_fields, list_fields
from steelyard.web.drafts.origins import read_origin
from steelyard.web.drafts.saved import SavedDrafts

TEXT = """\
# a comment that stays
experiment: disk   # and this one
workload:
  use: sleep_
  run: [sleep, '0.1']
repeat: 6
"""
SOUND = TEXT.replace("sleep_", "command")


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def test_problems_stand_at_their_lines(store, tmp_path):
    checked = check_draft(TEXT.replace("repeat: 6", "repeat: x\nordr: 1"), store, tmp_path)
    assert {one.line for one in checked.problems} >= {4, 6, 7}
    assert checked.plan == []


@pytest.mark.parametrize("text", ["", "a: [", "\x00", "- 1", "a: 1\na: 2", "&a [*a]", "x" * 1_100_000])
def test_whatever_is_written_is_answered(store, tmp_path, text):
    assert check_draft(text, store, tmp_path).problems
    list_fields(text)


def test_a_sound_draft_says_what_it_would_run(store, tmp_path):
    checked = check_draft(SOUND, store, tmp_path)
    assert (checked.title, checked.problems) == ("disk", [])
    assert any("6 repetitions = 6 trials" in line for line in checked.plan)
    assert not store.root.exists(), "nothing is run, nothing is written"


def test_a_site_that_is_none_is_said(store, tmp_path):
    (problem,) = check_draft(SOUND, store, tmp_path, "nowhere").problems
    assert "nowhere" in problem.text


def test_a_form_changes_what_it_names_and_nothing_else():
    fields = {field.path: field for field in list_fields(SOUND)}
    assert fields["experiment"].value == "disk"
    assert fields["order"].kind == "choice"
    assert "workload.cwd" in fields
    same = {path: field.value for path, field in fields.items()}
    assert apply_fields(SOUND, same) == SOUND
    changed = apply_fields(SOUND, {**same, "repeat": "12", "order": "random", "workload.cwd": "/tmp"})
    assert (
        changed
        == SOUND.replace("repeat: 6", "repeat: 12")
        .replace("  run:", "  run:")
        .replace("'0.1']\n", "'0.1']\n  cwd: /tmp\n")
        + "order: random\n"
    )
    assert apply_fields(changed, {"workload.cwd": "", "order": "", "repeat": "6"}) == SOUND


@pytest.mark.parametrize(
    "value", ["null", "[1, 2]", "{a: b}", "x: y", "# no", "- a", "'", "true", "1e3", "a\nb: c"]
)
def test_a_value_of_a_form_stays_one_value(value):
    changed = apply_fields(SOUND, {"about": value})
    tree = read(changed, "x").value
    assert set(tree) == {"experiment", "workload", "repeat", "about"}


@given(
    st.text(max_size=200),
    st.dictionaries(st.sampled_from(["about", "repeat", "workload.cwd"]), st.text(max_size=20)),
)
def test_no_text_and_no_form_is_an_error_of_ours(text, fields):
    for draft in (text, SOUND):
        with contextlib.suppress(SteelyardError):
            apply_fields(draft, fields)


@pytest.mark.parametrize("origin", ["", "entry:fio", "entry:ycsb", "entry:command", "entry:netcdf_bench"])
def test_what_a_draft_begins_with_is_sound(store, tmp_path, origin):
    text = read_origin(origin, store)
    load_source(read(text, "x"), tmp_path)


@pytest.mark.parametrize(
    "origin", ["entry:nope", "entry:redis", "run:nope", "draft:../../x", "file:/etc/passwd", ":"]
)
def test_it_begins_with_nothing_else(store, origin):
    with pytest.raises(UnknownName):
        read_origin(origin, store)


def test_a_draft_is_kept_under_its_name(store):
    saved = SavedDrafts(store)
    assert saved.save(SOUND, "disk") == "disk"
    assert saved.save(SOUND, "disk") == "disk", "it says the same"
    assert saved.save(TEXT, "disk") == "disk-2"
    assert saved.save(SOUND + "#\n", "disk", over="disk-2") == "disk-2"
    assert saved.read("disk-2") == SOUND + "#\n"
    assert set(saved.list_names()) == {"disk", "disk-2"}
    assert saved.find("disk").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("title", ["../../etc/passwd", "", "..", "/", "a\x00b", "é", "x" * 500, "-rf"])
def test_a_title_is_no_path(store, title):
    name = SavedDrafts(store).save(SOUND, title)
    assert (SavedDrafts(store).folder / f"{name}.yaml").resolve().parent == SavedDrafts(
        store
    ).folder.resolve()
    assert SavedDrafts(store).read(name) == SOUND
    assert not name.startswith((".", "-"))


def test_a_planted_link_is_not_written_through(store, tmp_path):
    saved, victim = SavedDrafts(store), tmp_path / "victim"
    victim.write_text("mine")
    saved.folder.mkdir(parents=True)
    (saved.folder / "disk.yaml").symlink_to(victim)
    with pytest.raises(UnknownName):
        saved.read("disk")
    with pytest.raises(SteelyardError):
        saved.save(SOUND, "disk")
    assert victim.read_text() == "mine"


def test_a_draft_of_a_run_finds_what_lies_beside_the_runs_file(store, tmp_path):
    place = tmp_path / "project"
    place.mkdir()
    (place / "solver").write_text("#!/bin/sh\nexit 0\n")
    (place / "solver").chmod(0o700)
    (place / "mine.yaml").write_text(
        "experiment: mine  # a comment\nworkload: {use: command, run: [./solver]}\nrepeat: 2\n"
    )
    experiment, text = load(place / "mine.yaml")
    run = start(experiment, text, store, origin=place / "mine.yaml")
    draft = read_origin(f"run:{run.id}", store)
    assert f"dir: {place}\n" in draft
    assert "# a comment" in draft
    saved = SavedDrafts(store)
    again, text = load(saved.find(saved.save(draft, "mine")))
    assert again.folder == place
    folder = start(again, text, store, origin=saved.find("mine"))
    assert glance(folder).failed == 0
    assert f"dir: {place}\n" in read_origin(f"run:{folder.id}", store)


def test_a_run_of_somebody_elses_brings_no_folder(store, tmp_path):
    (tmp_path / "mine.yaml").write_text(SOUND)
    experiment, text = load(tmp_path / "mine.yaml")
    run = start(experiment, text, store, origin=tmp_path / "mine.yaml")
    other = Store(tmp_path / "other")
    Importer(store, other).take(run)
    assert "dir:" in read_origin(f"run:{run.id}", store)
    assert "dir:" not in read_origin(f"run:{other.list_runs()[0].id}", other)
