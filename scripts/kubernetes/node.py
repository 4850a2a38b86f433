"""A node of the cluster: a containerd and a kubelet, with the files that configure them.

A second one shares the machine with the first, but nothing that a kubelet takes for its own: it has another
containerd, root directory and port, another range of the pods' network, another root for its control groups
(a kubelet ends what it finds there and does not know), and /var/lib/kubelet is another directory for it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import images

BRIDGE, SUBNET = "steelyard-k8s0", "10.231.0.0/24"
GROUPS = Path("/sys/fs/cgroup")
OWN_GROUP = "steelyard-node-2"
CNI = "/usr/lib/cni"
_GATES = {"KubeletInUserNamespace": True}
_ROOM = {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"}


class Node(NamedTuple):
    """A node by its name, which is its host name, too. `suffix` keeps its files and processes apart; `first`
    and `last` are the addresses of its pods; `group` is the root of its control groups.
    """

    name: str
    suffix: str
    first: str
    last: str
    group: str = "/"

    def place(self, folder: Path) -> Path:
        """Where its files lie in the directory of the cluster."""
        return folder / "node-2" if self.suffix else folder

    def socket(self, folder: Path) -> Path:
        """Where its containerd listens."""
        return self.place(folder) / "containerd.sock"

    def write_files(self, folder: Path, port: int) -> None:
        """What its programs read. `port`: the kubelet's."""
        place = self.place(folder)
        (place / "cni").mkdir(parents=True)
        (place / "var").mkdir(exist_ok=True)
        (place / "cni" / "10-bridge.conflist").write_text(json.dumps(self._network(place)))
        (place / "containerd.toml").write_text(_containerd_config(place))
        (place / "kubelet.json").write_text(json.dumps(self._kubelet_config(folder, port)))

    def make_groups(self) -> None:
        """The root of its control groups, in each hierarchy; the kubelet makes all that is below it."""
        for hierarchy in list_hierarchies() if self.group != "/" else ():
            (hierarchy / self.group.strip("/")).mkdir(exist_ok=True)

    def _network(self, place: Path) -> dict[str, Any]:
        ranges = [[{"subnet": SUBNET, "rangeStart": self.first, "rangeEnd": self.last}]]
        ipam = {"type": "host-local", "ranges": ranges, "dataDir": f"{place}/addresses"}
        bridge = {"type": "bridge", "bridge": BRIDGE, "isGateway": True, "ipam": ipam}
        return {"cniVersion": "0.4.0", "name": "steelyard", "plugins": [bridge]}

    def _kubelet_config(self, folder: Path, port: int) -> dict[str, Any]:
        place = self.place(folder)
        return {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": "127.0.0.1",
            "port": port,
            "healthzPort": 0,
            "containerRuntimeEndpoint": f"unix://{self.socket(folder)}",
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": False},
                "x509": {"clientCAFile": f"{folder}/authority.pem"},
            },
            "authorization": {"mode": "AlwaysAllow"},  # of whom the authority knows: the API server
            "featureGates": _GATES,
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": self.group,
            "failCgroupV1": False,
            "failSwapOn": False,
            "oomScoreAdj": 0,
            "maxOpenFiles": 20000,
            "resolvConf": "",
            "volumePluginDir": f"{place}/volume-plugins",
            "podLogsDir": f"{place}/pod-logs",
            "evictionHard": _ROOM,
        }


FIRST = Node("localhost", "", "10.231.0.2", "10.231.0.127")
SECOND = Node("node-2", "-2", "10.231.0.128", "10.231.0.254", f"/{OWN_GROUP}")


def list_hierarchies() -> list[Path]:
    """Where control groups of version 1 are mounted; the only one of version 2 where there are none."""
    mounted = [entry for entry in GROUPS.iterdir() if entry.is_dir() and (entry / "cgroup.procs").exists()]
    return mounted if (GROUPS / "cpu").exists() else [GROUPS]


def list_kubepods() -> list[Path]:
    """The control groups under which kubelets have their pods."""
    return [*GROUPS.glob("kubepods"), *GROUPS.glob("*/kubepods"), *GROUPS.glob(f"*/{OWN_GROUP}/kubepods")]


def list_own_groups() -> list[Path]:
    """What `make_groups` made."""
    return [*GROUPS.glob(OWN_GROUP), *GROUPS.glob(f"*/{OWN_GROUP}")]


def _containerd_config(place: Path) -> str:
    return f"""\
version = 2
root = "{place}/containerd/root"
state = "{place}/containerd/state"
[grpc]
  address = "{place}/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "{place}/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{images.PAUSE}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  tolerate_missing_hugetlb_controller = true
  stream_server_address = "127.0.0.1"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{CNI}"
    conf_dir = "{place}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
"""
