"""What a phase left behind, which a stranger's tool may have said."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from steelyard.controller.trial.evidence import MOST_FIGURES, read_output
from steelyard.errors import TrialFailure
from steelyard.model.command import Command, Exit, Phase
from steelyard.model.metric import Reading


def read(reading, folder):
    (folder / "stdout").touch()
    (folder / "stderr").touch()
    workload = SimpleNamespace(parse=lambda phase, output: reading, series=lambda phase, output: ())
    return read_output(
        workload, Phase("run", Command(("x",))), Exit(0, None, 0.1, 0.0, 0.0, None, 0.0), folder
    )


@pytest.mark.parametrize(
    "reading",
    [
        Reading({f"m{n}": 0.5 for n in range(MOST_FIGURES // 8)}),
        Reading({}, facts={"said": "x" * MOST_FIGURES}),
    ],
    ids=["figures", "facts"],
)
def test_more_than_a_line_of_the_journal_may_hold_fails_the_trial(reading, tmp_path):
    with pytest.raises(
        TrialFailure, match=r"run: its figures and facts take . MiB; the limit is 2 MiB"
    ) as failed:
        read(reading, tmp_path)
    assert failed.value.category == "unreadable-output"


def test_what_fits_is_taken(tmp_path):
    assert read(Reading({"m": 0.5}), tmp_path).values == {"m": 0.5}
