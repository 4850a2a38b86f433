"""The Python API, on a fake site: what files can say, Python can say."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

import steelyard
from steelyard.errors import SpecError, UnknownName
from steelyard.testing import FakeSite, Said

SOURCE = Path(__file__).parents[1] / "src"


def behave(command):
    return Said(stdout="score: 42", wall=float(command.argv[1]))


@pytest.fixture
def experiment():
    return steelyard.Experiment(
        experiment="nap",
        parameters={"seconds": [0.1, 0.2]},
        workload={
            "use": "command",
            "run": ["sleep", "${seconds}"],
            "metrics": {"score": {"regex": "score: (.*)"}},
        },
        before_each=["sync", {"settle": "1ms"}],
        disturbed="include",
        require=["wall.median <= 3 s"],
    )


@pytest.fixture
def run(experiment, tmp_path):
    return steelyard.run(experiment, site=FakeSite(behave), store=tmp_path)


def test_all_names_are_there():
    assert set(dir(steelyard)) == set(steelyard.__all__)
    for name in steelyard.__all__:
        assert getattr(steelyard, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = steelyard.nonsense


def test_importing_costs_next_to_nothing():
    code = "import sys, steelyard; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(SOURCE)},
        check=True,
    ).stdout.split()
    ours = [name for name in loaded if name.startswith("steelyard")]
    assert ours == ["steelyard"]
    assert not {"click", "rich", "pydantic", "numpy", "asyncio", "ruamel"} & set(loaded)


def test_help_and_version_load_no_command():
    code = (
        "import sys; sys.argv = ['steelyard', '--help']\n"
        "from steelyard.cli.app import run; run()\n"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert {name for name in loaded if name.startswith("steelyard.")} == {
        "steelyard.cli",
        "steelyard.cli.app",
        "steelyard.cli.terminal",
        "steelyard.errors",
        "steelyard.printable",
    }
    assert not {"rich", "pydantic", "numpy", "duckdb", "ruamel.yaml"} & loaded
    for command in ("run", "compare", "doctor"):
        assert f"\n  {command} " in done.stdout


def test_a_run_gives_rows_and_a_table(run):
    rows = run.rows()
    assert len(rows) == 12
    assert {row["wall"] for row in rows} == {0.1, 0.2}
    assert {row["score"] for row in rows} == {42.0}
    assert "wall  median [95 %]" in str(run)
    table = run._repr_html_()
    assert "seconds=0.1" in table
    assert "100 ms" in table


def test_the_record_holds_the_experiment_as_a_file(run, experiment):
    from steelyard.spec.change import load_tree
    from steelyard.spec.yaml.source import read

    again, _ = load_tree(read(run.record.experiment_text, "x").value)
    assert again == experiment


def test_a_run_is_found_again(run, tmp_path):
    assert steelyard.last(store=tmp_path).id == run.id
    assert steelyard.load(run.id[:15], store=tmp_path).id == run.id
    with pytest.raises(UnknownName, match="unknown run 'nonsense'"):
        steelyard.load("nonsense", store=tmp_path)


def test_mistakes_are_told_with_their_path():
    with pytest.raises(SpecError, match=r"workload\.run.*'k' is not a parameter"):
        steelyard.run({"experiment": "a", "workload": {"use": "command", "run": ["sleep", "${k}"]}})


def test_it_works_where_a_loop_runs_already(experiment, tmp_path):
    async def notebook():
        return steelyard.run(experiment, site=FakeSite(behave), store=tmp_path)

    assert len(asyncio.run(notebook()).rows()) == 12


def test_a_report_is_written(run, tmp_path):
    path = run.report(tmp_path / "nap.html")
    assert "nap" in path.read_text()
