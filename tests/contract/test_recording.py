"""An example that had no time to measure anything on a busy machine gets more; nothing else does."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.errors import NothingMeasured, ParseFailure
from steelyard.testing.contract import recording

WORKLOAD = '''
from steelyard.plugin import Command, Duration, Metric, NothingMeasured, ParseFailure, Reading
from steelyard.plugin.workload import Workload, WorkloadOptions


class LateOptions(WorkloadOptions):
    duration: Duration | None = None


class Late(Workload[LateOptions]):
    """Says how long it was told to take."""

    Options = LateOptions
    examples = ({example},)

    def metrics(self):
        return (Metric("seconds", "s", "lower", "how long it took"),)

    def command(self, place):
        return Command(("echo", str(float(self.options.duration or 0))))

    def parse(self, phase, output):
        seconds = float(output.stdout)
        if seconds < {needed}:
            raise {failure}("nothing happened")
        return Reading({{"seconds": seconds}})
'''


def late(
    folder: Path, needed: float, example: str = '{"duration": "500ms"}', failure: str = "NothingMeasured"
):
    path = folder / "late.py"
    path.write_text(WORKLOAD.format(needed=needed, example=example, failure=failure))
    return str(path)


def tries(folder: Path) -> list[int]:
    return sorted(int(path.name.removesuffix("-fold")) for path in folder.glob("*-fold"))


def test_what_measured_nothing_is_run_again_in_twice_the_time(tmp_path):
    measured = recording.measure(late(tmp_path, 1.9), 0, tmp_path)
    assert measured.reading.values == {"seconds": 2.0}
    assert measured.outputs["run"].stdout == "2.0\n"
    assert measured.workload.options.duration == 2
    assert tries(tmp_path) == [1, 2, 4]


def test_it_ends_with_what_the_last_one_said(tmp_path):
    with pytest.raises(
        NothingMeasured, match="nothing happened in the time of the trial: give a longer `dur"
    ):
        recording.measure(late(tmp_path, 1000), 0, tmp_path)
    assert tries(tmp_path)[-1] == recording.MOST_LONGER


@pytest.mark.parametrize(
    ("example", "failure"), [("{}", "NothingMeasured"), ('{"duration": "1s"}', "ParseFailure")]
)
def test_what_more_time_does_not_help_fails_at_once(example, failure, tmp_path):
    with pytest.raises(ParseFailure, match="nothing happened"):
        recording.measure(late(tmp_path, 1000, example, failure), 0, tmp_path)
    assert tries(tmp_path) == [1]
