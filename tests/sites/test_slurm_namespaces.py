"""The Slurm cluster whose nodes are network namespaces: it works, and leaves nothing."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from loading import loaded

pytestmark = [pytest.mark.full, pytest.mark.xdist_group("batch")]
cluster = loaded(Path(__file__).with_name("slurm_cluster.py"))


@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
def test_a_step_from_inside_a_job_reaches_all_nodes_and_nothing_stays(tmp_path: Path) -> None:
    code = cluster.load()
    if lacking := code.missing():
        pytest.skip(f"not installed: {', '.join(lacking)}")
    # A long path is one that no Unix socket may have, and srun says nothing of it by its exit code.
    made = code.Cluster(tmp_path / ("long-path-" * 12) / "cluster")
    try:
        made.up(4, namespaces=True)
        record = made._record()
        subprocess.run(
            ["sbatch", "--wait", "--nodes=4", "--output=out", "--wrap", "srun --nodes=4 hostname"],
            env=made.environment(), check=True, cwd=tmp_path,
        )  # fmt: skip
        assert sorted((tmp_path / "out").read_text().split()) == ["n1", "n2", "n3", "n4"]
    finally:
        made.down()
    listed = subprocess.run(["ip", "-brief", "link"], capture_output=True, text=True, check=True).stdout
    assert record["bridge"] not in listed
    assert not list(Path("/run/netns").glob(f"{record['bridge']}-*"))
    assert not Path(record["sockets"]).exists()
    assert not made.directory.exists()
    assert not code._marked(str(made.directory))
