"""What is added to Slurm: measured with a real cluster, where there is one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from bench.process import NotMeasured
from bench.setting import Setting

from bench import jobs, slurm_cluster


def test_without_slurm_there_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code = slurm_cluster._script()
    code.missing = lambda: ["slurmctld"]
    monkeypatch.setattr(slurm_cluster, "_script", lambda: code)
    with pytest.raises(NotMeasured, match="slurmctld"):
        list(jobs.rows(Setting(tmp_path)))
    assert not (tmp_path / "cluster").exists()


def test_the_loop_submits_what_we_submit(tmp_path: Path) -> None:
    loop = jobs.Submitting(Setting(tmp_path), 3)._shell()
    assert "sbatch --parsable" in loop
    assert "--hold" in loop
    assert "-lt 3 ]" in loop


def test_what_srun_complains_about_is_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends with 0 also when it started nothing."""
    program(tmp_path / "sbatch", 'for last; do :; done; cd "${last%/*}" && exec sh script >output 2>&1')
    program(tmp_path / "srun", 'echo "srun: error: task 0 launch failed" >&2')
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(NotMeasured, match="no time: srun: error: task 0 launch failed"):
        jobs.bare(Setting(tmp_path))
    program(tmp_path / "srun", "echo 10; exit 0")
    program(tmp_path / "date", "echo 7")
    assert jobs.bare(Setting(tmp_path)) == 3e-9


def program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.mark.full
@pytest.mark.xdist_group("batch")
def test_a_real_cluster_is_measured(tmp_path: Path) -> None:
    if lacking := slurm_cluster._script().missing():
        pytest.skip(f"not installed: {', '.join(lacking)}")
    one_by_one, at_once, calls, status, added = jobs.rows(Setting(tmp_path, quick=True))
    assert (calls.ours, calls.verdict) == ((1.0,), "within")
    for row in (one_by_one, at_once, status, added):
        assert len(row.theirs) == 2
        assert all(seconds > 0 for seconds in row.ours)
    assert not (tmp_path / "cluster").exists(), "the cluster is gone"
