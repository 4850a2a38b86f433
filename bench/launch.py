"""What Steelyard adds to launching a service, and how long a ring of Cassandra takes to be ready.

The way is a run's own: `Deployment.for_trial` on the hosts of `local:N`. Each launch takes place in a process
of its own, as the first and mostly only one of a run does, so that loading the service's code counts, too.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bench.process import NotMeasured, in_turns, run
from bench.row import Row
from bench.setting import Setting
from bench.start import LIBRARIES, imports
from steelyard.services.cassandra.home import CASSANDRA, JAVA
from steelyard.tools.find import find_missing
from steelyard.units import show

MOST = {2: 0.2, 16: 0.5}  # by the number of hosts: of what loading three libraries takes
MOST_OWN = 0.05  # of the whole launch
MOST_OF_FLOOR = 1.25  # three nodes at once against what one takes, or what their CPU time allows
MOST_BY_TLS = 1.25  # a ring whose nodes use TLS against one whose nodes do not
SMALL = {"heap": "128MiB", "jvm": ["-XX:TieredStopAtLevel=1"]}  # the flags of the tests

Parts = dict[str, float]


def rows(setting: Setting) -> Iterator[Row]:
    """Services that are ready at once; then real rings, where there is Cassandra."""
    for hosts, most in MOST.items():
        sides: dict[str, Callable[[], float]] = {
            "ours": partial(seconds, setting, "null", hosts),
            "libraries": partial(imports, setting),
        }
        found = in_turns(setting.turns, sides)
        what = f"launching a service on {hosts} hosts that is ready at once"
        yield Row("launch", what, "s", found["ours"], LIBRARIES, found["libraries"], most=most)
    if lacking := find_missing((JAVA, CASSANDRA)):
        raise NotMeasured(f"not installed: {', '.join(tool.name for tool in lacking)}")
    turns = 1 if setting.quick else 3
    yield from share([launched(setting, "timed", 2) for _ in range(turns)])
    yield _together(setting, turns)
    yield _encrypted(setting, turns)


def share(launches: Sequence[Parts]) -> Iterator[Row]:
    """What of a ring's launch is ours: all that is neither a node coming up nor a look at it."""
    middle = {name: statistics.median(each[name] for each in launches) for name in launches[0]}
    note = (
        "before the first node's process and after the last one answers. Not in it: looks at the ring are up "
        "to 0.15 s apart, and the Java that "
        f"looks took {show(middle['watch'], 's')} of CPU beside the nodes"
    )
    own, whole = (tuple(each[part] for each in launches) for part in ("own", "seconds"))
    what = "Steelyard's part of launching 2 nodes of Cassandra"
    yield Row("launch", what, "s", own, "the whole launch", whole, most=MOST_OWN, note=note)
    steps = {"context": "scratch and roles", "configure": "look for ports and jars, write files"}
    for name, words in steps.items():
        yield Row("launch", f"of that, {words}", "s", tuple(each[name] for each in launches))


def _together(setting: Setting, turns: int) -> Row:
    """Nodes that start take all the CPU there is: the floor is what the cores allow at best."""
    spent: list[float] = []

    def three() -> float:
        before = os.times()
        took = seconds(setting, "timed", 3)
        after = os.times()
        spent.append(after.children_user + after.children_system)
        spent[-1] -= before.children_user + before.children_system
        return took

    found = in_turns(turns, {"three": three, "one": partial(seconds, setting, "timed", 1)})
    cpu, cores = statistics.median(spent), os.cpu_count() or 1
    note = f"three take {show(cpu, 's')} of CPU, so {show(cpu / cores, 's')} or more on {cores} cores"
    what = "3 nodes of Cassandra ready, all started at once"
    floor = tuple(max(one, used / cores) for one, used in zip(found["one"], spent, strict=True))
    beside = "one node, or the CPU time of three on all cores"
    return Row("launch", what, "s", found["three"], beside, floor, most=MOST_OF_FLOOR, note=note)


def _encrypted(setting: Setting, turns: int) -> Row:
    """Three nodes that use TLS among themselves and with clients, beside three that do not."""
    sides = {
        "encrypted": lambda: launched(setting, "timed", 3, tls=True)["seconds"],
        "plain": lambda: launched(setting, "plain", 3, tls=False)["seconds"],
    }
    found = in_turns(turns, sides)
    what = "3 nodes of Cassandra ready, by TLS between nodes and to clients"
    note = "managed by TLS on both sides"
    return Row(
        "launch", what, "s", found["encrypted"], "in the clear", found["plain"], most=MOST_BY_TLS, note=note
    )


def seconds(setting: Setting, use: str, hosts: int) -> float:
    """Of one launch, in all."""
    return launched(setting, use, hosts)["seconds"]


def launched(setting: Setting, use: str, hosts: int, **options: Any) -> Parts:
    """What a launch took, in a process of its own. Raises NotMeasured."""
    place = setting.fresh("launch")
    argv = (
        sys.executable,
        "-m",
        "bench.launching",
        use,
        str(hosts),
        str(place),
        json.dumps({**SMALL, **options}),
    )
    done = run(argv, cwd=Path(__file__).parent.parent, env=setting.environment)
    found: Parts = json.loads(done.output.splitlines()[-1])
    return found
