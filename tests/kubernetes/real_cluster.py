"""A real Kubernetes of one node on this machine, asked as its administrator."""

from __future__ import annotations

import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from steelyard.provision.kubernetes.access import role_path

SCRIPT = Path(__file__).parents[2] / "scripts" / "kubernetes" / "cluster"
RUNNING = "STEELYARD_KUBERNETES"
"""Names the directory of a cluster that is up already; without it, one is started for the tests."""
LABEL = "steelyard/lease"


class RealCluster:
    """What tests ask of it. `kubeconfig` has the least Role in a namespace that enforces `restricted`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.kubeconfig, self.admin = directory / "kubeconfig", directory / "admin.kubeconfig"
        document = json.loads(self.admin.read_text())
        cluster = document["clusters"][0]["cluster"]
        self._server, self._token = cluster["server"], document["users"][0]["user"]["token"]
        tls = ssl.create_default_context(cafile=cluster["certificate-authority"])
        proxies = urllib.request.ProxyHandler({})
        self._opener = urllib.request.build_opener(proxies, urllib.request.HTTPSHandler(context=tls))

    def ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self._server}{path}", data, headers, method=method)
        with self._opener.open(request) as answer:
            return json.load(answer)

    def labelled(self, label: str = LABEL) -> list[str]:
        """The objects of every kind that can be listed which bear our label."""
        groups = [version for group in self.ask("GET", "/apis")["groups"] for version in group["versions"]]
        found = []
        for root in ("/api/v1", *(f"/apis/{version['groupVersion']}" for version in groups)):
            kinds = [each for each in self.ask("GET", root)["resources"] if "list" in each["verbs"]]
            for kind in kinds:
                listed = self.ask("GET", f"{root}/{kind['name']}?labelSelector={label}")
                found += [f"{kind['name']}/{each['metadata']['name']}" for each in listed.get("items") or ()]
        return found

    def pods(self) -> list[dict[str, Any]]:
        return self.ask("GET", f"/api/v1/namespaces/bench/pods?labelSelector={LABEL}")["items"]

    @contextmanager
    def with_second_node(self) -> Iterator[None]:
        """It has a node more, `node-2`, for as long as the block lasts."""
        words = [sys.executable, str(SCRIPT)]
        subprocess.run([*words, "join", "--dir", str(self.directory)], check=True)
        try:
            yield
        finally:
            subprocess.run([*words, "leave", "--dir", str(self.directory)], check=True)

    @contextmanager
    def granted(self, role: str) -> Iterator[None]:
        """Its account may also do what a Role allows that events need, for as long as the block lasts."""
        with role_path(role).open() as file:
            document = YAML(typ="safe", pure=True).load(file)
        root, kind, name = (
            "/apis/rbac.authorization.k8s.io/v1",
            document["kind"],
            document["metadata"]["name"],
        )
        (known,) = self.ask("GET", f"{root}/namespaces/bench/rolebindings/bench")["subjects"]
        space = root if kind == "ClusterRole" else f"{root}/namespaces/bench"
        roles, bindings = f"{space}/{kind.lower()}s", f"{space}/{kind.lower()}bindings"
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
        binding = {"metadata": {"name": name}, "roleRef": reference, "subjects": [known]}
        self.ask("POST", roles, document)
        self.ask("POST", bindings, binding)
        try:
            yield
        finally:
            self.ask("DELETE", f"{bindings}/{name}")
            self.ask("DELETE", f"{roles}/{name}")

    @contextmanager
    def away(self) -> Iterator[None]:
        """Its API server says nothing for a while, as when its machine hangs."""
        pid = json.loads((self.directory / "state.json").read_text())["processes"]["apiserver"][0]
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)


@contextmanager
def start(directory: Path) -> Iterator[RealCluster]:
    """One that is up already, or one for as long as the block lasts."""
    if there := os.environ.get(RUNNING):
        yield RealCluster(Path(there))
        return
    words = [sys.executable, str(SCRIPT)]
    subprocess.run([*words, "up", "--dir", str(directory)], check=True)
    try:
        yield RealCluster(directory)
    finally:
        subprocess.run([*words, "down", "--dir", str(directory)], check=True)


def lacking() -> str:
    """What this machine lacks for it."""
    if os.geteuid():
        return "a kubelet needs root"
    programs = ("etcd", "containerd", "runc", "mmdebstrap")
    missing = [name for name in programs if shutil.which(name, path="/usr/bin:/usr/sbin") is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    built = subprocess.run([SCRIPT.with_name("build"), "--where"], check=True, capture_output=True, text=True)
    return (
        "" if Path(built.stdout.strip(), ".complete").exists() else "Kubernetes is not built: make kubernetes"
    )
