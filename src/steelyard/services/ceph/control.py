"""What runs beside a cluster of Ceph, on a monitor's host, by the Python of its own command `ceph`.

    control.py CONF run            # commands for the monitors, a JSON object a line of the input
    control.py CONF watch FILE     # for ever: what the cluster says of itself, to a file
    control.py CONF layout         # names and values of the file system's layout, a JSON list of the input
    control.py CONF greet URL [CA] # whether a gateway answers

`ceph` takes half a second for each question, as it first asks what it may ask.
"""

import json
import os
import sys
import threading
import time

EVERY, WEIGH_EVERY = 0.25, 1.0  # seconds
SHORT, LONG = 3, 40  # seconds that the monitors have for an answer


def connect(conf, seconds):
    import rados

    limits = {"rados_mon_op_timeout": str(seconds), "client_mount_timeout": str(seconds + 2)}
    cluster = rados.Rados(conffile=conf, rados_id="admin", conf=limits)
    cluster.connect()
    return cluster


def ask(cluster, **words):
    code, said, why = cluster.mon_command(json.dumps(dict(words, format="json")), b"")
    if code:
        raise OSError(why)
    return json.loads(said)


def run(conf):
    cluster = connect(conf, LONG)
    for line in sys.stdin:
        code, said, why = cluster.mon_command(line, b"")
        if code:
            sys.exit("%s: %s" % (json.loads(line)["prefix"], why or os.strerror(-code)))
        print(said.decode().strip())


def weigh(cluster, loads, is_managed):
    """A thread of its own: without a manager there is no answer, and no limit to the wait for it."""
    while True:
        is_managed.wait()
        code, said, _ = cluster.mgr_command('{"prefix": "osd df", "format": "json"}', b"")
        if not code:
            loads.update((str(node["id"]), int(node["kb_used"]) * 1024) for node in json.loads(said)["nodes"])
        time.sleep(WEIGH_EVERY)


def look(cluster, loads):
    status, dump = ask(cluster, prefix="status"), ask(cluster, prefix="osd dump")
    osds = {str(osd["osd"]): [osd["up"], osd["in"]] for osd in dump["osds"]}
    pgs = sum(pool["pg_num"] for pool in dump["pools"])
    return {"status": status, "epoch": dump["epoch"], "osds": osds, "pgs": pgs, "loads": dict(loads)}


def watch(conf, path):
    cluster, epoch, since, loads = None, None, 0.0, {}
    is_managed = threading.Event()
    while True:
        try:
            if cluster is None:
                cluster = connect(conf, SHORT)
                threading.Thread(target=weigh, args=(cluster, loads, is_managed), daemon=True).start()
            state = look(cluster, loads)
        except Exception as error:
            print(error, file=sys.stderr, flush=True)
            time.sleep(EVERY)
            continue
        is_available = state["status"]["mgrmap"]["available"]
        (is_managed.set if is_available else is_managed.clear)()
        if state["epoch"] != epoch:
            epoch, since = state["epoch"], time.monotonic()
        state["unchanged"] = time.monotonic() - since
        state["at"] = time.time()
        with open(path + ".new", "w") as file:
            json.dump(state, file)
        os.rename(path + ".new", path)
        time.sleep(EVERY)


def layout(conf):
    import cephfs

    files = cephfs.LibCephFS(conffile=conf, auth_id="admin")
    files.mount()
    for name, value in json.load(sys.stdin):
        files.setxattr("/", "ceph.dir.layout." + name, str(value).encode(), 0)
    files.chmod("/", 0o1777)  # who mounts it may be no root
    files.unmount()
    files.shutdown()


def greet(conf, url, authority=""):
    import ssl
    import urllib.error
    import urllib.request

    context = ssl.create_default_context(cafile=authority) if authority else None
    try:
        urllib.request.urlopen(url, timeout=3, context=context)
    except urllib.error.HTTPError as error:
        if error.code >= 500:
            raise
    print("it answers")


if __name__ == "__main__":
    {"run": run, "watch": watch, "layout": layout, "greet": greet}[sys.argv[2]](sys.argv[1], *sys.argv[3:])
