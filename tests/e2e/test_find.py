"""A search for a limit through the command line: it finds it, and a killed one goes on to the same end."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conftest import Lab

EXPERIMENT = r"""
experiment: search
parameters: {level: {between: [100, 2000]}, engine: [slow, fast]}
workload:
  use: command
  script: |
    sleep 0.02
    limit=700; [ $engine = slow ] && limit=300
    [ $level -lt 1500 ] || exit 3
    echo "latency $((level * 1000 / limit)) us"
  metrics: {latency: {regex: 'latency (\d+) us', unit: us, better: lower}}
find: {maximize: level, while: latency <= 1 ms, within: 10%}
repeat: 6
disturbed: include
seed: 4
"""
WAYS = {"slow": [100, 200, 400, 283, 336, 308], "fast": [100, 200, 400, 800, 566, 673, 734]}


def levels(trials: list[dict[str, Any]], engine: str) -> list[int]:
    """The levels of a search in the order in which they came."""
    found = (one["parameters"] for one in trials if one["parameters"]["engine"] == engine)
    return list(dict.fromkeys(parameters["level"] for parameters in found))


def ended(lab: Lab) -> list[dict[str, Any]]:
    return [line for line in lab.journal() if line["kind"] == "trial-ended"]


def test_it_finds_the_limits_and_a_killed_search_goes_on_to_the_same_end(
    lab: Lab, until: Callable[..., bool]
) -> None:
    """Killed in the middle of a step and again later, it makes the very same trials in the same order."""
    assert lab.steelyard("run", lab.file(EXPERIMENT), "-q").code == 0
    said = lab.steelyard("show", lab.runs()[0].name, "--json").said
    (found, *_) = json.loads(said)["derived"]["findings"]
    ends = {limit["label"]: (limit["holds"]["place"], limit["fails"]["place"]) for limit in found["limits"]}
    assert ends == {"engine=slow": (283, 308), "engine=fast": (673, 734)}
    assert {engine: levels(ended(lab), engine) for engine in WAYS} == WAYS
    wanted = [(one["parameters"], one["repetition"]) for one in ended(lab)]
    for count, argv in ((15, ("run", lab.file(EXPERIMENT), "-q")), (41, ("resume", "last", "-q"))):
        cut = lab.start(*argv)
        assert until(lambda count=count: len(lab.runs()) == 2 and len(ended(lab)) >= count), cut.said()
        cut.process.kill()
        cut.process.wait()
    assert lab.steelyard("resume", "last", "-q").code == 0
    assert [(one["parameters"], one["repetition"]) for one in ended(lab)] == wanted
    shown = lab.steelyard("show", "last").said
    assert "highest level while latency <= 1 ms (engine=slow): between 283, which holds, and 308" in shown


def test_more_repetitions_may_be_asked_for_and_more_levels_may_not(lab: Lab) -> None:
    text = EXPERIMENT.replace(", engine: [slow, fast]", "").replace("$engine", "slow")
    assert lab.steelyard("run", lab.file(text), "-q").code == 0
    made = len(ended(lab))
    refused = lab.steelyard("extend", "last", "-p", "level=5000")
    assert refused.code == 2
    assert "'level' is searched by 'find'; it has bounds, not levels that can be added to" in refused.said
    assert lab.steelyard("extend", "last", "--repeat", "7", "-q").code == 0
    assert len(ended(lab)) == made * 7 // 6


def test_the_plan_says_how_many_levels_there_are(lab: Lab) -> None:
    said = lab.steelyard("plan", lab.file(EXPERIMENT)).said
    assert "2 searches of 1 to 8 levels x 6 repetitions = 12 to 96 trials" in said
    assert "maximize level while latency <= 1 ms, from 100 to 2000, within 10%" in said
    assert "  from level=100 engine=fast" in said
