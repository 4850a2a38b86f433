"""A real Kubernetes of one node for measuring: that of `make kubernetes-up`."""

from __future__ import annotations

import json
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bench.process import NotMeasured

SCRIPT = Path(__file__).parents[1] / "scripts" / "kubernetes" / "cluster"
NAMESPACE = "bench"
_PROGRAMS = ("etcd", "containerd", "runc", "mmdebstrap")
_GLANCE = 0.02  # seconds between looks


class BareCluster:
    """Asked without anything of Steelyard, by its administrator; `kubeconfig` is what runs use."""

    def __init__(self, directory: Path) -> None:
        self.kubeconfig = directory / "kubeconfig"
        document = json.loads((directory / "admin.kubeconfig").read_text())
        cluster = document["clusters"][0]["cluster"]
        self._server, self._token = cluster["server"], document["users"][0]["user"]["token"]
        tls = ssl.create_default_context(cafile=cluster["certificate-authority"])
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=tls)
        )

    def time_first_line(self, job: dict[str, Any]) -> float:
        """Seconds from asking for a Job of one pod until its log has a line."""
        name, began = job["metadata"]["name"], time.perf_counter()
        self._ask("POST", f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs", job)
        pods = f"/api/v1/namespaces/{NAMESPACE}/pods"
        while not self._read_log(pods, name):
            time.sleep(_GLANCE)
        took = time.perf_counter() - began
        self._ask("DELETE", f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/{name}?propagationPolicy=Foreground")
        return took

    def _read_log(self, pods: str, job: str) -> bytes:
        """Nothing while its container is being created, as whoever asks is then told by an error."""
        listed = json.loads(self._ask("GET", f"{pods}?labelSelector=batch.kubernetes.io/job-name={job}"))
        with suppress(urllib.error.HTTPError):
            for pod in listed["items"]:
                return self._ask("GET", f"{pods}/{pod['metadata']['name']}/log")
        return b""

    def _ask(self, method: str, path: str, body: Any = None) -> bytes:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self._server}{path}", data, headers, method=method)
        with self._opener.open(request) as answer:
            return bytes(answer.read())


@contextmanager
def running() -> Iterator[BareCluster]:
    """For as long as the block lasts. Raises NotMeasured where it cannot be had, or does not start."""
    if lacking := _find_lacking():
        raise NotMeasured(lacking)
    with tempfile.TemporaryDirectory(prefix="sy-k8s-") as place:  # its paths must be short
        directory = Path(place) / "c"
        _run("up", directory)
        try:
            yield BareCluster(directory)
        finally:
            _run("down", directory)


def _find_lacking() -> str:
    if os.geteuid():
        return "a kubelet needs root"
    missing = [name for name in _PROGRAMS if shutil.which(name, path="/usr/bin:/usr/sbin") is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    where = subprocess.run([SCRIPT.with_name("build"), "--where"], check=True, capture_output=True, text=True)
    built = Path(where.stdout.strip(), ".complete").exists()
    return "" if built else "Kubernetes is not built: `make kubernetes` does so, in 17 minutes of CPU time"


def _run(word: str, directory: Path) -> None:
    try:
        subprocess.run(
            [sys.executable, SCRIPT, word, "--dir", directory], check=True, capture_output=True, text=True
        )
    except subprocess.CalledProcessError as error:
        raise NotMeasured(f"Kubernetes does not start: {error.stderr.strip()[-300:]}") from error
