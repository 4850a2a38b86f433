"""The programs beside two published charts on checkpoints, with small levels, for real."""

from __future__ import annotations

import shutil
from pathlib import Path

from steelyard import api

FOLDER = Path(__file__).parents[2] / "examples" / "published" / "xtreemos-2010"


def run_once(place: Path, name: str, program: str, *levels: str) -> dict[str, float]:
    """The figures of one trial of an example, of which a line of levels is replaced."""
    text = (FOLDER / name).read_text()
    for old, new in (levels, ("repeat: 6", "repeat: 1\ndisturbed: include")):
        assert text.count(old) == 1
        text = text.replace(old, new)
    shutil.copy(FOLDER / program, place)
    (place / name).write_text(text)
    (trial,) = api.run(place / name).record.trials
    assert trial.result.status == "ok", trial.message
    return dict(trial.result.metrics)


def test_a_server_goes_on_through_control(tmp_path: Path) -> None:
    figures = run_once(tmp_path, "figure-4.2.yaml", "holder.py", "[10, 50, 100, 500, 1000]", "[1]")
    assert figures["checkpoint_size"] == 1_000_000
    assert 0 < figures["saved_in"] < figures["checkpoint_time"]
    assert 0 < figures["restored_in"] < figures["restore_time"]
    assert figures["checkpoint_layer"] == figures["checkpoint_time"] - figures["saved_in"]


def test_a_renderer_goes_on_with_its_picture(tmp_path: Path) -> None:
    figures = run_once(tmp_path, "figure-4.11.yaml", "render.py", "[1920, 3840, 7680, 15360]", "[160]")
    assert figures["state_size"] == 16 + 3 * 160 * 90
    assert figures["save_time"] > 0
    assert figures["restore_time"] > 0


def test_a_server_that_holds_something_else_fails_the_trial(tmp_path: Path) -> None:
    """Its file is of the right size, and of zeros."""
    text = (FOLDER / "holder.py").read_text()
    forgetful = "rest = rest[file.readinto(rest) :]"
    assert text.count(forgetful) == 1
    (tmp_path / "holder.py").write_text(text.replace(forgetful, "break"))
    text = (FOLDER / "figure-4.2.yaml").read_text()
    text = text.replace("[10, 50, 100, 500, 1000]", "[1]").replace("repeat: 6", "repeat: 1")
    (tmp_path / "figure-4.2.yaml").write_text(text)
    (trial,) = api.run(tmp_path / "figure-4.2.yaml").record.trials
    assert trial.result.status == "failed"
    assert "the restored server holds something else" in trial.message
