"""`steelyard cluster`: what is refused, what is understood, what is shown; nothing is started."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click
import pytest

from steelyard.cli.cluster import ACTIONS
from steelyard.cli.cluster import command as cluster
from steelyard.cli.clusters.options import TimeSpan, parse_settings, snapshot_place
from steelyard.cli.clusters.recover import _snapshot_site
from steelyard.cli.clusters.show import link_logs
from steelyard.cli.clusters.snapshot_table import format_table
from steelyard.cli.clusters.status import format_status
from steelyard.cluster import clusters
from steelyard.cluster.clusters import exit_code, list_clusters
from steelyard.errors import UsageError
from steelyard.model.snapshot import Snapshot
from steelyard.store.layout import RunFolder, Store
from steelyard.store.writer import RunWriter


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "-nT=3", "-nC=2", "-nA=2", "--disjoint", "--appl", "x"), "-nT 3 is too few"),
        (("run", "--appl", "it's"), "cannot be split"),
        (("run", "--mpi", "2"), "give --appl"),
        (("run", "--set", "heap"), "KEY=VALUE"),
        (("run", "--set", "heep=1GiB"), "heep"),
        (("run", "--set", "keep=trial"), "--set keep"),
        (("run", "--qos", "debug"), "--qos applies to batch schedulers"),
        (("run", "--time", "soon"), "04:00:00"),
        (("run", "--jobname", "a b"), "letters, digits"),
        (("recover", "--latest"), "no snapshots in"),
        (("recover",), "no snapshots in"),
        (("recover", "--id", "x", "--snapshots", "s4://x"), "no snapshots in"),
        (("stop",), "no live cluster"),
        (("attach", "x", "--appl", "y"), "no live cluster"),
        (("STATUS", "x"), "no live cluster"),
        (("snapshots", "--remove", "x"), "unknown snapshot"),
    ],
)
def test_what_is_wrong_is_said_before_anything_runs(steelyard, tmp_path, words, said):
    done = steelyard("cluster", *words)
    assert done.code == 2, done
    assert said in done.err
    assert not (tmp_path / "store" / "runs").exists()


@pytest.mark.parametrize("words", [("--snapshot",), ("--snapshot-always", "--snapshots", "here")])
def test_pods_do_not_have_the_directory_of_snapshots(steelyard, tmp_path, words):
    (tmp_path / "sites.yaml").write_text("pods: {use: kubernetes, image: tools}")
    done = steelyard("cluster", "run", "--site", "pods", *words)
    assert done.code == 2, done
    assert "nodes of site pods do not have the directory of snapshots" in done.err
    assert "--snapshots s3://" in done.err
    assert not (tmp_path / "store" / "runs").exists()


def test_every_action_has_help_with_an_example(steelyard):
    for action in ACTIONS:
        done = steelyard("cluster", action, "--help")
        assert done.code == 0
        assert f"steelyard cluster {action}" in done.out
    everything = steelyard("cluster", "--help")
    assert all(text in " ".join(everything.out.split()) for text in ACTIONS.values())


def test_nothing_lives(steelyard):
    assert "no live cluster" in steelyard("cluster", "status").out
    assert steelyard("cluster", "status", "--json").document == []
    assert steelyard("cluster", "snapshots", "--json").document == []


def test_a_cluster_that_ends_once_it_is_listed_is_no_mistake_of_who_asked(steelyard, tmp_path, monkeypatch):
    folder = Store(tmp_path / "store").create("brain")
    folder.experiment.write_text("experiment: brain\nhold: true\n")
    writer = RunWriter(folder)

    def lists_and_ends(store):
        with writer:
            return list_clusters(store)

    monkeypatch.setattr(clusters, "list_clusters", lists_and_ends)
    done = steelyard("cluster", "status", "--json")
    assert done.code == 0, done.err
    assert done.document["cluster"] == "brain"
    assert "unasked" in done.document
    monkeypatch.undo()
    assert steelyard("cluster", "status", "--json").document == []


@pytest.mark.parametrize("words", [("-nT", "4"), ("-nT=4",), ("--nodes", "4"), ("--nodes=4",)])
def test_numbers_of_nodes_may_be_written_as_people_do(words):
    command = cluster.get_command(click.Context(cluster), "RUN")
    assert command is not None
    found = command.make_context("run", list(words)).params
    assert found["total"] == 4


def test_what_follows_two_dashes_is_the_schedulers():
    command = cluster.get_command(click.Context(cluster), "run")
    assert command is not None
    made = command.make_context("run", ["-nC", "2", "--", "--constraint=ib", "-nA"])
    assert made.meta["words"] == ("--constraint=ib", "-nA")


@pytest.mark.parametrize(
    ("text", "seconds"), [("04:00:00", 14400), ("0:30", 1800), ("1:2:3", 3723), ("90min", 5400), ("2h", 7200)]
)
def test_times_as_schedulers_write_them(text, seconds):
    assert TimeSpan().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["0:0", "1", "", "1:75", "-1:00", "1:00:00:00"])
def test_what_is_no_time(text):
    with pytest.raises(click.BadParameter):
        TimeSpan().convert(text, None, None)


def test_settings_are_read_as_in_a_file():
    pairs = ["heap=2GiB", "num_tokens=4", "keyspaces=[a, b]", "settings.a.b=1", "settings.c=x=y", "empty="]
    assert parse_settings(pairs) == {
        "heap": "2GiB",
        "num_tokens": 4,
        "keyspaces": ["a", "b"],
        "settings": {"a": {"b": 1}, "c": "x=y"},
        "empty": None,
    }
    for wrong in ("heap", "=1", "a..b=1", "a=[", "a=1"):
        with pytest.raises(UsageError):
            parse_settings([wrong, "a.b=1"])


def test_where_snapshots_lie(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert snapshot_place("st", None) == str(tmp_path / "st" / "snapshots")
    assert snapshot_place(None, "mine") == str(tmp_path / "mine")
    assert snapshot_place(None, "s3://bucket/x") == "s3://bucket/x"


@pytest.mark.parametrize(
    ("recorded", "site"),
    [
        ("local:2", "local"),
        ("slurm", "slurm"),
        ("netns:4", "netns"),
        ("ssh:hosts.yaml", "ssh:hosts.yaml"),
        ("", None),
    ],
)
def test_the_site_of_a_snapshot_is_found_again(recorded, site):
    assert _snapshot_site(recorded) == site


def test_exit_codes():
    assert exit_code({"code": 7, "signal": None}) == 7
    assert exit_code({"code": None, "signal": 9}) == 137
    assert exit_code({}) == 0


def test_snapshots_are_listed_newest_first():
    def one(name, taken, rows):
        files = [{"path": "a", "size": 2**20, "digest": "0" * 64}]
        nodes = [{"host": host, "files": files, "rows": {"t": rows}} for host in ("n1", "n2")]
        about = {
            "name": name,
            "service": "cassandra",
            "version": "5.0.6",
            "taken": taken,
            "site": "slurm",
            "job": "17",
        }
        return Snapshot.model_validate({**about, "nodes": nodes})

    heading, first, second = format_table([one("old", 0.0, 5), one("new", 200_000.0, 7)], now=200_060.0)
    assert heading.split() == ["name", "size", "nodes", "rows", "age", "job", "from"]
    assert first.split() == ["new", "2.00", "MiB", "2", "~14", "1:00", "17", "slurm"]
    assert second.split()[-4:] == ["2", "d", "17", "slurm"]


def test_the_status_of_a_ring():
    nodes = [
        {"host": "n1", "address": "10.0.0.1", "state": "up", "load": 2**21, "tokens": ["-9"]},
        {"host": "n2", "address": "10.0.0.2", "state": "joining", "load": None, "tokens": ["1", "2", "3"]},
    ]
    service = {"address": "10.0.0.1", "port": 9042, "facts": {"CONTACT_NAMES": "10.0.0.1", "user": "me"}}
    told = {
        "cluster": "brain",
        "run": "r1",
        "doing": "running the application",
        "since": time.time() - 65,
        "left": 3600.0,
        "stopping": True,
        "job": "job 17 is running on n1, n2",
        "nodes": {"ring": nodes},
        "services": {"ring": service},
    }
    found = format_status(told, time.time())
    assert found[0] == "cluster brain (run r1) is running the application (for 1:05), and stops after that"
    assert found[1:4] == [
        told["job"],
        "time left: 1:00:00",
        "ring is at 10.0.0.1 port 9042  CONTACT_NAMES=10.0.0.1",
    ]
    assert found[5].split() == ["n1", "10.0.0.1", "up", "2.00", "MiB", "-9"]
    assert found[6].split() == ["n2", "10.0.0.2", "joining", "-", "3"]
    unasked = format_status({**told, "nodes": {}, "unasked": "why"}, 0.0)
    assert "the state of its nodes is not known: why" in unasked[-1]
    json.dumps(found)


def test_a_link_that_cannot_be_made_is_no_failure(tmp_path: Path, capsys):
    (tmp_path / "file").touch()
    link_logs(tmp_path / "file", "brain", RunFolder(tmp_path / "r1"))
    assert "cannot link the logs" in capsys.readouterr().err
    link_logs(tmp_path / "logs", "brain", RunFolder(tmp_path / "r1"))
    assert (tmp_path / "logs" / "brain-r1").is_symlink()
