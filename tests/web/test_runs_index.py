"""What is known of a store's runs: right after every change, by any filter, whatever lies in the cache."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from steelyard.store import reader
from steelyard.store.layout import Store
from steelyard.web import runs_index
from steelyard.web.runs_index import RunsIndex, RunsQuery


def add_run(root, n: int) -> None:
    folder = root / "runs" / f"20261120-10000{n}-e{n % 2}-000{n}"
    folder.mkdir(parents=True)
    began = {"kind": "run-started", "experiment": f"e{n % 2}", "site": "local", "tags": {"n": str(n)}}
    ended = {"kind": "run-ended", "state": "complete", "done": n, "failed": 0}
    lines = ({"seq": seq, "wall": 1.0, **line} for seq, line in enumerate((began, ended), 1))
    (folder / "journal.ndjson").write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def store(tmp_path):
    for n in range(1, 6):
        add_run(tmp_path / "store", n)
    return Store(tmp_path / "store")


def names(page):
    return [run.run[-1] for run in page.runs]


def test_the_newest_come_first_a_page_at_a_time(store):
    index = RunsIndex(store)
    page = index.select(RunsQuery(), 2)
    assert (names(page), page.total, page.more) == (["5", "4"], 5, True)
    page = index.select(RunsQuery(before=page.runs[-1].run), 2)
    assert names(page) == ["3", "2"]
    page = index.select(RunsQuery(before=page.runs[-1].run), 2)
    assert (names(page), page.more) == (["1"], False)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (RunsQuery(experiment="e1"), ["5", "3", "1"]),
        (RunsQuery(experiment="e"), []),
        (RunsQuery(text="E0-0004"), ["4"]),
        (RunsQuery(state="complete"), ["5", "4", "3", "2", "1"]),
        (RunsQuery(state="running"), []),
        (RunsQuery(tag="n=3"), ["3"]),
        (RunsQuery(tag="n"), ["5", "4", "3", "2", "1"]),
        (RunsQuery(tag="m"), []),
        (RunsQuery(site="nowhere"), []),
    ],
)
def test_filters(store, query, found):
    assert names(RunsIndex(store).select(query)) == found


def test_a_query_is_what_the_url_says_and_no_more():
    assert RunsQuery.parse({"text": " x ", "other": "y", "tag": "t" * 999}) == RunsQuery(
        text="x", tag="t" * 200
    )


def test_a_journal_is_read_again_when_it_has_changed(store, monkeypatch):
    read = []
    monkeypatch.setattr(runs_index, "glance", lambda folder: read.append(folder.id) or reader.glance(folder))
    index = RunsIndex(store)
    index.select(RunsQuery())
    index.select(RunsQuery())
    assert len(read) == 5
    with store.find("0003").journal.open("a") as file:
        file.write(
            '{"seq": 99, "wall": 1.0, "kind": "run-ended", "state": "failed", "done": 1, "failed": 1}\n'
        )
    assert [run.state for run in index.select(RunsQuery()).runs][2] == "failed"
    assert len(read) == 6


def test_what_is_known_is_kept_for_the_next_server(store, monkeypatch):
    index = RunsIndex(store)
    index.select(RunsQuery())
    index.save()
    monkeypatch.setattr(runs_index, "glance", lambda folder: pytest.fail(f"{folder.id} is read again"))
    assert names(RunsIndex(store).select(RunsQuery())) == ["5", "4", "3", "2", "1"]


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"schema": 1, "runs": {"a": 1}}', '{"schema": 1, "runs": {"a": []}}']
)
def test_a_cache_that_is_none_costs_nothing_but_time(store, home, text):
    index = RunsIndex(store)
    index.select(RunsQuery())
    index.save()
    (path,) = (home / "cache" / "steelyard" / "web").iterdir()
    path.write_text(text)
    assert len(RunsIndex(store).select(RunsQuery()).runs) == 5


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_cache_of_another_account_is_not_believed(store, home):
    index = RunsIndex(store)
    index.select(RunsQuery())
    index.save()
    (path,) = (home / "cache" / "steelyard" / "web").iterdir()
    path.write_text(path.read_text().replace("complete", "failed"))
    os.chown(path, 65534, 65534)
    assert {run.state for run in RunsIndex(store).select(RunsQuery()).runs} == {"complete"}


def test_a_new_run_is_seen_and_a_removed_one_is_gone(store):
    index = RunsIndex(store)
    assert len(index.select(RunsQuery()).runs) == 5
    add_run(store.root, 6)
    assert names(index.select(RunsQuery()))[0] == "6"
    shutil.rmtree(store.find("0006").path)
    assert names(index.select(RunsQuery()))[0] == "5"


def test_a_removed_run_leaves_the_cache_as_well(store):
    index = RunsIndex(store)
    index.select(RunsQuery())
    shutil.rmtree(store.list_runs()[0].path)
    add_run(store.root, 6)
    index.select(RunsQuery())
    index.save()
    again = RunsIndex(store)
    assert sorted(name[-1] for name in again._known) == ["2", "3", "4", "5", "6"]


def test_runs_of_one_second_are_paged_in_the_order_in_which_they_began(tmp_path):
    for n, end in enumerate(("ffff", "0000", "8888")):
        add_run(tmp_path / "store", 1)
        folder = tmp_path / "store" / "runs"
        made = next(path for path in folder.iterdir() if path.name.endswith("-0001"))
        made.rename(folder / f"20261120-100000-e-{end}")
        experiment = folder / f"20261120-100000-e-{end}" / "experiment.yaml"
        experiment.write_text("")
        os.utime(experiment, ns=(n * 10**9, n * 10**9))
    index, seen, before = RunsIndex(Store(tmp_path / "store")), [], ""
    while page := index.select(RunsQuery(before=before), 1).runs:
        before = page[0].run
        seen.append(before[-4:])
    assert seen == ["8888", "0000", "ffff"]


def test_an_empty_store_has_no_runs(tmp_path):
    assert RunsIndex(Store(tmp_path / "none")).select(RunsQuery()) == ([], 0, False)
