"""Each file of golden/ with mistakes, and exactly the messages that it must give.

`pytest tests/spec/test_golden.py --update-golden` writes them anew; read the diff before you commit it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.errors import SpecError
from steelyard.spec.load import load_source
from steelyard.spec.yaml.source import read

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(path.stem for path in GOLDEN.glob("*.yaml"))


@pytest.mark.parametrize("name", FILES)
def test_messages_are_exactly_these(name, request):
    text = (GOLDEN / f"{name}.yaml").read_text()
    with pytest.raises(SpecError) as caught:
        load_source(read(text, f"{name}.yaml"))
    expected = GOLDEN / f"{name}.txt"
    if request.config.getoption("--update-golden"):
        expected.write_text(f"{caught.value}\n")
    assert f"{caught.value}\n" == expected.read_text()


@pytest.mark.parametrize("name", FILES)
def test_each_place_is_told_once(name):
    text = (GOLDEN / f"{name}.yaml").read_text()
    with pytest.raises(SpecError) as caught:
        load_source(read(text, name))
    places = [(problem.line, problem.column) for problem in caught.value.problems]
    assert len(places) == len(set(places))
