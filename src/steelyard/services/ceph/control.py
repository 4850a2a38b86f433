"""What runs beside a cluster of Ceph, on a monitor's host, by the Python of its own command `ceph`.

    control.py CONF run               commands for the monitors, a JSON object a line of the input
    control.py CONF watch FILE        for ever: what the cluster says of itself, to a file
    control.py CONF layout            names and values of the file system's layout, a JSON list of the input
    control.py CONF greet HOST PORT [AUTHORITY]      whether a gateway answers

`ceph` takes half a second for each question, as it first asks what it may ask. This is no part of Steelyard's
own process, and hosts may have an older Python.
"""

from __future__ import annotations

import http.client
import json
import os
import ssl
import sys
import threading
import time
from pathlib import Path
from typing import Any

HURRY, CALM, WEIGH_EVERY = 0.25, 1.0, 1.0  # seconds between two looks; calm is when nothing moves
CALM_AFTER = 10.0  # seconds in which no daemon came or went
SHORT, LONG = 3, 40  # seconds that the monitors have for an answer


def connect(conf: str, seconds: int) -> Any:
    """The cluster, as its administrator."""
    import rados

    limits = {"rados_mon_op_timeout": str(seconds), "client_mount_timeout": str(seconds + 2)}
    cluster = rados.Rados(conffile=conf, rados_id="admin", conf=limits)
    cluster.connect()
    return cluster


def run(conf: str) -> None:
    """Have the monitors do one thing after the other."""
    cluster = connect(conf, LONG)
    for line in sys.stdin:
        code, said, why = cluster.mon_command(line, b"")
        if code:
            sys.exit(f"{json.loads(line)['prefix']}: {why or os.strerror(-code)}")
        print(said.decode().strip())


def ask(cluster: Any, prefix: str) -> Any:
    """What the monitors answer. Raises OSError."""
    code, said, why = cluster.mon_command(json.dumps({"prefix": prefix, "format": "json"}), b"")
    if code:
        raise OSError(-code, why)
    return json.loads(said)


def look(cluster: Any) -> dict[str, Any]:
    """What they say now."""
    status, dump = ask(cluster, "status"), ask(cluster, "osd dump")
    osds = {str(osd["osd"]): [osd["up"], osd["in"], osd["up_from"]] for osd in dump["osds"]}
    pgs = sum(pool["pg_num"] for pool in dump["pools"])
    return {"status": status, "epoch": dump["epoch"], "osds": osds, "pgs": pgs}


class Scales:
    """How much each storage daemon stores, by the manager's word.

    In a thread of its own: without a manager there is no answer, and no limit to the wait for it.
    """

    def __init__(self, cluster: Any) -> None:
        self.loads: dict[str, int] = {}
        self.is_managed = threading.Event()
        threading.Thread(target=self._weigh, args=(cluster,), daemon=True).start()

    def _weigh(self, cluster: Any) -> None:
        while True:
            self.is_managed.wait()
            code, said, _ = cluster.mgr_command('{"prefix": "osd df", "format": "json"}', b"")
            if not code:
                nodes = json.loads(said)["nodes"]
                self.loads = {str(node["id"]): int(node["kb_used"]) * 1024 for node in nodes}
            time.sleep(WEIGH_EVERY)


def watch(conf: str, path: str) -> None:
    """Write what they say, with how long no daemon has come or gone, and with the host's time."""
    while True:
        try:
            cluster = connect(conf, SHORT)
            break
        except Exception as error:  # there may be no quorum yet
            print(error, file=sys.stderr, flush=True)
    scales, epoch, since = Scales(cluster), None, 0.0
    while True:
        try:
            state = look(cluster)
        except Exception as error:  # or none any more
            print(error, file=sys.stderr, flush=True)
            continue
        (scales.is_managed.set if state["status"]["mgrmap"]["available"] else scales.is_managed.clear)()
        if state["epoch"] != epoch:
            epoch, since = state["epoch"], time.monotonic()
        state.update(loads=scales.loads, unchanged=time.monotonic() - since, at=time.time())
        Path(f"{path}.new").write_text(json.dumps(state))
        Path(f"{path}.new").replace(path)
        states = {one["state_name"] for one in state["status"]["pgmap"]["pgs_by_state"]}
        time.sleep(CALM if states == {"active+clean"} and state["unchanged"] > CALM_AFTER else HURRY)


def layout(conf: str) -> None:
    """Say how the file system divides files; everybody who has it mounted may write to its top."""
    import cephfs

    files = cephfs.LibCephFS(conffile=conf, auth_id="admin")
    files.conf_set("client_permissions", "false")  # its top is root's, whom we are not
    files.mount()
    for name, value in json.load(sys.stdin):
        files.setxattr("/", f"ceph.dir.layout.{name}", str(value).encode(), 0)
    files.chmod("/", 0o1777)
    files.unmount()
    files.shutdown()


def greet(conf: str, host: str, port: str, *authority: str) -> None:  # noqa: ARG001 - as the others
    """Have a gateway answer, whatever it says to a stranger."""
    context = ssl.create_default_context(cafile=authority[0]) if authority else None
    kind = http.client.HTTPSConnection if context else http.client.HTTPConnection
    more: Any = {"context": context} if context else {}
    door = kind(host, int(port), timeout=5, **more)
    door.request("GET", "/")
    status = door.getresponse().status
    sys.exit(f"it answers with {status}" if status >= 500 else 0)


if __name__ == "__main__":
    actions: dict[str, Any] = {"run": run, "watch": watch, "layout": layout, "greet": greet}
    actions[sys.argv[2]](sys.argv[1], *sys.argv[3:])
