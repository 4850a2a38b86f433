from __future__ import annotations

import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steelyard.errors import StoreError, UnknownName
from steelyard.store.layout import RunFolder, Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def made(store: Store, *names: str) -> list[RunFolder]:
    for name in names:
        (store.runs / name).mkdir(parents=True)
    return store.list_runs()


def test_an_id_tells_when_and_what(store: Store) -> None:
    before = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    folder = store.create("ska1-raw-ingest")
    assert re.fullmatch(r"\d{8}-\d{6}-ska1-raw-ingest-[0-9a-f]{4}", folder.id)
    assert before <= folder.id[:15] <= time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    assert folder.path.is_dir()


def test_a_long_title_makes_no_long_name(store: Store) -> None:
    folder = store.create("x" * 63)
    assert len(folder.id) < 60
    assert store.list_runs() == [folder]


def test_ids_are_unique_however_many_begin_at_once(store: Store) -> None:
    with ThreadPoolExecutor(8) as pool:
        folders = list(pool.map(store.create, ["same"] * 400))
    assert len({folder.id for folder in folders}) == 400
    assert len(store.list_runs()) == 400


def test_runs_of_one_second_are_in_the_order_in_which_they_began(store: Store) -> None:
    names = [f"20260101-000000-{letter}-{digit}000" for letter, digit in ("z9", "a1", "m5", "a0")]
    made(store, "20260101-000001-a-0000", "20251231-235959-z-0000")
    for age, name in enumerate(names):
        (folder,) = (run for run in made(store, name) if run.id == name)
        folder.experiment.touch()
        os.utime(folder.experiment, (1e9 + age, 1e9 + age))
    wanted = ["20251231-235959-z-0000", *names, "20260101-000001-a-0000"]
    assert [run.id for run in store.list_runs()] == wanted


def test_what_is_no_run_is_not_listed(store: Store) -> None:
    made(store, "20260101-000000-a-0000", "notes", ".hidden", "20260101-000000-a", "20260101-000000-a-000g")
    assert [run.id for run in store.list_runs()] == ["20260101-000000-a-0000"]


def test_a_store_that_is_not_there_is_empty(store: Store) -> None:
    assert store.list_runs() == []
    with pytest.raises(UnknownName, match="no runs in"):
        store.find("last")


def test_a_run_is_found_by_name_part_path_and_age(store: Store) -> None:
    first, second, third = made(
        store, "20260101-000000-ska1-00ff", "20260102-000000-ska1-a0a0", "20260102-111111-ska2-b0b0"
    )
    for name, folder in {
        first.id: first,
        "20260101": first,
        "00ff": first,
        "20260102-0": second,
        "ska1-a0a0": second,
        "ska2": third,
        "last": third,
    }.items():
        assert store.find(name) == folder
    (second.path / "journal.ndjson").touch()
    assert store.find(str(second.path)).id == second.id


def test_an_ambiguous_part_lists_what_it_may_be(store: Store) -> None:
    made(store, "20260102-000000-ska1-a0a0", "20260102-111111-ska2-b0b0", "20260103-111111-ska2-b0b0")
    with pytest.raises(UnknownName, match="it matches: 20260102-000000-ska1-a0a0, 20260102-111111"):
        store.find("20260102")
    with pytest.raises(UnknownName, match="did you mean '20260103-111111-ska2-b0b0'"):
        store.find("20260103-111111-ska2-b0bo")


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.text(max_size=30))
def test_any_name_is_found_or_unknown(name: str, store: Store) -> None:
    if not store.runs.exists():
        made(store, "20260102-000000-ska1-a0a0", "20260102-111111-ska2-b0b0")
    with suppress(UnknownName):
        assert store.find(name) in store.list_runs()


@pytest.mark.parametrize("form", ["file", "dangling link"])
def test_what_is_no_directory_is_told_at_once(form: str, tmp_path: Path) -> None:
    place = tmp_path / "place"
    if form == "file":
        place.touch()
    else:
        place.symlink_to(tmp_path / "nowhere")
    with pytest.raises(StoreError, match="cannot create a run in the store"):
        Store(place).create("x")


def test_a_store_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "runs").touch()
    with pytest.raises(StoreError, match=r"cannot read the store .*: Not a directory"):
        Store(tmp_path).list_runs()


def test_every_file_of_a_run_lies_in_its_folder(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    named = [folder.experiment, folder.design, folder.environment, folder.journal, folder.control]
    named += [folder.reserve, folder.derived_folder, folder.minder_log, folder.trial(7)]
    named += [folder.phase(7, "host-0", "run"), folder.telemetry(7, "local", "parquet")]
    assert len(set(named)) == len(named)
    assert all(folder.path in path.parents for path in named)
