from __future__ import annotations

import os

import pytest

from steelyard.errors import StoreError
from steelyard.store.decisions import Decision, add_decisions, list_decisions
from steelyard.store.importing import HERE, Importer
from steelyard.store.layout import Store
from steelyard.store.reader import RunRecord
from steelyard.store.writer import RunWriter


@pytest.fixture
def source(build, tmp_path):
    return Store(build().folder.path.parents[1])


@pytest.fixture
def importer(source, tmp_path):
    return Importer(source, Store(tmp_path / "mine"))


def test_a_run_is_taken_whole_and_says_where_it_comes_from(importer, source):
    (run,) = importer.list_runs()
    assert importer.take(run).reason == ""
    mine = importer.target.find(run.id)
    assert RunRecord(mine).counts == RunRecord(run).counts
    assert mine.phase(1, "host-0", "command").joinpath("stdout").read_text() == "said\n"
    assert str(source.root) in mine.imported_from()
    assert mine.path.stat().st_mode & 0o077 == 0
    assert importer.take(run).reason == HERE


def test_a_light_one_has_its_figures_and_no_outputs(source, tmp_path):
    importer = Importer(source, Store(tmp_path / "mine"), light=True)
    (run,) = importer.list_runs()
    importer.take(run)
    mine = importer.target.find(run.id)
    assert RunRecord(mine).counts == RunRecord(run).counts
    assert not (mine.path / "trials").exists()


def test_links_and_fifos_of_a_stranger_are_left_behind(importer, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("key")
    (run,) = importer.list_runs()
    (run.path / "leak").symlink_to(secret)
    (run.path / "trials" / "99").symlink_to(tmp_path, target_is_directory=True)
    os.mkfifo(run.path / "wait")
    importer.take(run)
    mine = importer.target.find(run.id).path
    assert not [path for path in mine.rglob("*") if path.is_symlink() or path.name in ("leak", "wait")]
    assert not (mine / "trials" / "99").exists() or not list((mine / "trials" / "99").iterdir())


def test_a_run_that_goes_on_is_not_taken(importer):
    (run,) = importer.list_runs()
    with RunWriter(run):
        assert "going on" in importer.take(run).reason
    assert importer.target.list_runs() == []


def test_another_record_of_the_same_run_is_left_as_it_is(importer):
    (run,) = importer.list_runs()
    importer.take(run)
    with run.journal.open("ab") as journal:
        journal.write(b'{"seq":999,"kind":"warning"}\n')
    assert "steelyard rm" in importer.take(run).reason


def test_nothing_is_left_where_it_fails(importer, monkeypatch):
    (run,) = importer.list_runs()

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "there")

    monkeypatch.setattr("shutil.copyfileobj", fail)
    with pytest.raises(StoreError, match="No space left"):
        importer.take(run)
    assert list(importer.target.runs.iterdir()) == []


def test_decisions_come_once(importer, source):
    add_decisions(source, [Decision("synthetic", "x", "ignored", "so", "me", 1.0)])
    assert importer.take_decisions() == 1
    assert importer.take_decisions() == 0
    assert len(list_decisions(importer.target)) == 1


def test_what_is_no_store_is_said_to_be_none(tmp_path):
    with pytest.raises(StoreError, match="no store"):
        Importer(Store(tmp_path / "nothing"), Store(tmp_path / "mine")).list_runs()
