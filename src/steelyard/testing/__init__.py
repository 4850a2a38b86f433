"""For authors of plug-ins: stand-ins that start nothing, and in `contract` the suites of every kind.

A plug-in of your own can be tested in milliseconds, through the real run, store and report::

    from steelyard.testing import FakeSite, Said

    def behave(command):
        return Said(stdout="score: 42", wall=0.5)

    run = steelyard.run(experiment, site=FakeSite(behave), store=tmp_path)

What every plug-in of its kind must do is tested by `steelyard.testing.contract`, which needs pytest.
"""

from __future__ import annotations

from steelyard.testing.stand_ins import (
    Behaviour,
    FakeHost,
    FakeProcess,
    FakeSite,
    NullService,
    Said,
    SleepOptions,
    SleepWorkload,
)

__all__ = [
    "Behaviour",
    "FakeHost",
    "FakeProcess",
    "FakeSite",
    "NullService",
    "Said",
    "SleepOptions",
    "SleepWorkload",
]
