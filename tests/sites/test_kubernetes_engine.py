"""Kubernetes as an engine of `use: jobs`: what kubectl printed, and runs on the stand-in of a cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from kube_cluster import KubeCluster
from patience import until
from steelyard.errors import ParseFailure
from steelyard.model.engine import EngineJob
from steelyard.provision.kubernetes.queued_job import NAME_LABEL
from steelyard.sites.kubernetes import Kubernetes, KubernetesOptions
from steelyard.sites.kubernetes.engine import KubernetesEngine
from steelyard.sites.kubernetes.stamps import read_stamps
from steelyard.store.layout import RunFolder
from steelyard.store.reader import RunRecord

RECORDED = Path(__file__).parents[1] / "data" / "kubernetes"
CLIENT = Path(__file__).parents[1] / "shared" / "kube_client"
FILE = """
experiment: jobs
workload: {use: jobs, engine: ENGINE, OPTIONS}
repeat: 1
disturbed: include
telemetry: off
"""


def make_engine(**given: Any) -> KubernetesEngine:
    engine = Kubernetes(KubernetesOptions.model_validate({"image": "tools:1", **given})).engine()
    assert isinstance(engine, KubernetesEngine)
    return engine


def read_recorded() -> dict[str, dict[str, str]]:
    objects = json.loads((RECORDED / "jobs-and-pods.json").read_text())["items"]
    return {each["job"]: each for each in read_stamps(objects)}


def test_what_a_job_printed_is_told_when_it_is_over() -> None:
    told = read_recorded()
    assert told["0.0"]["stands"] == told["1.0"]["stands"] == "over"
    assert told["0.0"]["why"] == told["1.0"]["why"] == "", "an exit code says it"
    words = [part.split() for part in told["1.0"]["stamps"].split(";")]
    assert [each[0] for each in words if each] == ["began", "host", "ended", "process"]
    assert words[2][2] == "7"


def test_memory_that_ran_out_counts_although_the_job_is_complete() -> None:
    told = read_recorded()["2.0"]
    assert told["why"] == "OOMKilled"
    assert " 0;" in told["stamps"], "its exit code is 0"
    identities = make_engine().parse_description((RECORDED / "job-columns.txt").read_text())
    assert "is complete" in identities["job.batch/sy-0123456789ab-9ccq8"]


def test_what_ends_or_keeps_a_job_is_told() -> None:
    told = read_recorded()
    assert (told["3.0"]["stands"], told["3.0"]["why"]) == ("over", "DeadlineExceeded")
    assert (told["5.0"]["stands"], told["5.0"]["why"]) == ("waits", "")
    identities = make_engine().parse_description((RECORDED / "job-columns.txt").read_text())
    assert identities["job.batch/sy-0123456789ab-9k89v"].endswith("has no pod")
    assert "is failed (BackoffLimitExceeded" in identities["job.batch/sy-0123456789ab-hzv56"]


@pytest.mark.parametrize("said", ["", "{}", "job.batch/x   1", '{"kind": "Job"}\n'])
def test_what_is_no_description(said: str) -> None:
    with pytest.raises(ParseFailure, match="kubectl does not print Jobs"):
        make_engine().parse_description(said)


def test_a_job_ends_by_itself_and_says_nothing_secret() -> None:
    job = EngineJob("sy-1", "0.0", ("echo", "$HOME"), 60.5, 300.0, PurePosixPath("/x"))
    engine = make_engine(kubeconfig="~/config", context="lab", namespace="bench", requests={"cpu": 1})
    submission = engine.submit(job)
    home = str(Path("~/config").expanduser())
    assert submission.command.argv[:4] == (
        "kubectl", f"--kubeconfig={home}", "--context=lab", "--namespace=bench",
    )  # fmt: skip
    document = json.loads(submission.command.stdin or "")
    spec = document["spec"]
    assert (spec["backoffLimit"], spec["activeDeadlineSeconds"]) == (0, 361)
    assert spec["ttlSecondsAfterFinished"] == 300
    pod = spec["template"]["spec"]
    assert (pod["activeDeadlineSeconds"], pod["automountServiceAccountToken"]) == (61, False)
    assert pod["containers"][0]["resources"]["limits"] == {"cpu": "1"}
    assert pod["containers"][0]["command"][-1] == "$$HOME", "the kubelet makes it $HOME"


# Whole runs


class Bench:
    """The command beside a stand-in of a cluster, and of kubectl."""

    def __init__(self, place: Path, cluster: KubeCluster) -> None:
        self.place, self.cluster = place, cluster
        path = f"{CLIENT}{os.pathsep}{os.environ['PATH']}"
        self.env = {**os.environ, "PATH": path, "XDG_STATE_HOME": str(place / "state")}
        site = {
            "use": "kubernetes",
            "image": "tools:1",
            "kubeconfig": str(cluster.write_kubeconfig(place / "kubeconfig")),
            "scratch": {"mount": str(place / "volume")},
        }
        absent = {**site, "image": "absent:1"}
        (place / "sites.yaml").write_text(json.dumps({"pods": site, "absent": absent}))

    def argv(self, verb: str, options: str, engine: str = "pods") -> list[str]:
        (self.place / "jobs.yaml").write_text(FILE.replace("ENGINE", engine).replace("OPTIONS", options))
        return [sys.executable, "-m", "steelyard", verb, "jobs.yaml"]

    def do(self, *argv: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(argv, capture_output=True, text=True, check=False, env=self.env, cwd=self.place)

    def run(self, options: str, engine: str = "pods") -> subprocess.CompletedProcess[str]:
        return self.do(*self.argv("run", options, engine))

    def start(self, options: str) -> subprocess.Popen[bytes]:
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(self.argv("run", options), env=self.env, cwd=self.place, **silent)

    def result(self) -> Any:
        (path,) = (self.place / "store").glob("runs/*")
        (result,) = RunRecord(RunFolder(path)).results
        return result

    def left(self) -> list[str]:
        return self.cluster.do(lambda: self.cluster.labelled(NAME_LABEL))

    def count_running(self) -> int:
        pods = self.cluster.do(lambda: list(self.cluster.pods.values()))
        return [pod.document["status"]["phase"] for pod in pods].count("Running")


@pytest.fixture
def bench(own_place: Path) -> Iterator[Bench]:
    with KubeCluster.running() as cluster:
        yield Bench(own_place, cluster)


def test_jobs_are_measured_by_stamps_of_their_pods(bench: Bench) -> None:
    done = bench.run("jobs: 6, at_once: 3, processes: 2")
    assert done.returncode == 0, done.stdout + done.stderr
    metrics = bench.result().metrics
    assert metrics["failure_rate"] == 0
    assert metrics["submit_time_p50"] > 0
    assert 0 < metrics["wait_time_p50"] < metrics["turnaround_time_p50"]
    assert 0 < metrics["launch_time_p50"] < metrics["turnaround_time_p50"]
    assert not bench.left()
    assert not list(bench.place.glob("state/steelyard/leases/*"))
    assert not any(
        "secret-token" in path.read_text(errors="replace") for path in _files(bench.place / "store")
    )


def _files(place: Path) -> list[Path]:
    return [path for path in place.rglob("*") if path.is_file()]


def test_a_running_job_is_asked_for_beside_others(bench: Bench) -> None:
    done = bench.run("do: status, jobs: 3, processes: 2, queries: 4")
    assert done.returncode == 0, done.stdout + done.stderr
    assert bench.result().metrics["status_time_p50"] > 0
    assert not bench.left()


def test_jobs_that_fail_are_submitted_again(bench: Bench) -> None:
    program = f"[sh, -c, 'mkdir {bench.place}/first 2>/dev/null && exit 3; exit 0']"
    done = bench.run(f"jobs: 3, at_once: 1, retries: 2, program: {program}")
    assert done.returncode == 0, done.stdout + done.stderr
    metrics = bench.result().metrics
    assert metrics["failure_rate"] == pytest.approx(1 / 3)
    assert (metrics["failure_rate_retried"], metrics["submissions"]) == (0, 4)
    assert not bench.left()


@pytest.mark.parametrize(
    ("engine", "options", "said"),
    [
        ("absent", "jobs: 2, start_within: 1s", "did not start within 1 s (ImagePullBackOff)"),
        ("pods", "jobs: 2, program: [sh, -c, exit 9]", "all 2 jobs failed; the first: ended with code 9"),
        ("pods", "jobs: 2, limit: 1s, program: [sleep, '60']", "was ended by the engine: DeadlineExceeded"),
    ],
)
def test_when_all_fail_the_trial_says_why(bench: Bench, engine: str, options: str, said: str) -> None:
    done = bench.run(options, engine)
    assert bench.result().status == "failed"
    assert said in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert not bench.left()


def test_what_a_quota_refuses_is_told(bench: Bench) -> None:
    bench.cluster.behaviour.quota = 0
    done = bench.run("jobs: 2, start_within: 1s")
    assert "did not start within 1 s (Error creating: pods" in done.stdout
    assert "exceeded quota" in done.stdout
    assert not bench.left()


def test_what_the_api_server_refuses_is_told(bench: Bench) -> None:
    bench.cluster.behaviour.denied.add(("create", "jobs"))
    done = bench.run("jobs: 2")
    assert 'refused: Error from server: jobs is forbidden: User "u" cannot create' in done.stdout


def test_memory_that_runs_out_fails_a_job_that_ends_with_0(bench: Bench) -> None:
    run = bench.start("jobs: 1, program: [sleep, '300'], limit: 1h")
    assert until(lambda: bench.count_running() == 1)
    (pod,) = bench.cluster.pods.values()
    bench.cluster.do(lambda: pod.finish({"exitCode": 0, "reason": "OOMKilled"}))
    assert run.wait() != 0
    (path,) = (bench.place / "store").glob("runs/*")
    assert "was ended by the engine: OOMKilled" in (path / "journal.ndjson").read_text()
    assert not bench.left()


def test_a_run_that_is_interrupted_leaves_no_job(bench: Bench) -> None:
    run = bench.start("jobs: 4, program: [sleep, '300'], limit: 1h")
    assert until(lambda: bench.count_running() == 4)
    run.send_signal(signal.SIGINT)
    run.wait()
    assert not bench.left()


def test_clean_deletes_what_a_killed_run_left(bench: Bench) -> None:
    run = bench.start("jobs: 4, program: [sleep, '300'], limit: 1h")
    assert until(lambda: bench.count_running() == 4)
    run.kill()
    run.wait()
    cleaned = bench.do(sys.executable, "-m", "steelyard", "clean")
    assert cleaned.returncode == 0, cleaned.stderr
    assert "cancelled jobs sy-" in cleaned.stdout
    assert until(lambda: not bench.left())
    assert not list(bench.place.glob("state/steelyard/leases/*"))


def test_without_clean_they_end_at_their_limit_and_go(bench: Bench) -> None:
    bench.cluster.behaviour.time_to_live = 0
    run = bench.start("jobs: 2, program: [sleep, '300'], limit: 2s")
    assert until(lambda: bench.count_running() > 0)
    run.kill()
    run.wait()
    assert until(lambda: not bench.left())


def test_what_cannot_surround_pods_is_told_at_its_place(bench: Bench) -> None:
    done = bench.do(*bench.argv("plan", "jobs: 2, wrap: {in: bubblewrap}"))
    assert done.returncode == 2
    assert "jobs.yaml:3:" in done.stdout + done.stderr
    assert "Kubernetes makes the containers of its jobs itself" in done.stdout + done.stderr
