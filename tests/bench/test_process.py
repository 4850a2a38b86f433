"""Programs are run to their end, and sides take turns."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from bench.process import NotMeasured, in_turns, run


def test_sides_take_turns() -> None:
    order: list[str] = []

    def side(name: str) -> float:
        order.append(name)
        return float(len(order))

    found = in_turns(3, {"a": lambda: side("a"), "b": lambda: side("b")})
    assert order == ["a", "b"] * 3
    assert found == {"a": (1.0, 3.0, 5.0), "b": (2.0, 4.0, 6.0)}


def test_a_program_that_ends_well(tmp_path: Path) -> None:
    code = "import os; x = b'x' * (200 << 20); print(os.getcwd(), os.environ['WORD'])"
    done = run((sys.executable, "-I", "-c", code), cwd=tmp_path, env={"WORD": "hello"})
    assert done.output == f"{tmp_path.resolve()} hello\n"
    assert done.peak > 200 << 20
    assert done.seconds > 0


def test_a_program_that_fails_says_why() -> None:
    with pytest.raises(NotMeasured, match=r"ended with 3: the reason"):
        run((sys.executable, "-I", "-c", "print('the reason'); raise SystemExit(3)"))


def test_a_program_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(NotMeasured, match="No such file"):
        run((str(tmp_path / "nothing"),))
