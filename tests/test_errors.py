from __future__ import annotations

import inspect
import re

from steelyard import errors
from steelyard.errors import SteelyardError


def tree() -> dict[str, type[SteelyardError]]:
    found = inspect.getmembers(errors, inspect.isclass)
    return {name: kind for name, kind in found if issubclass(kind, SteelyardError)}


def test_every_exception_is_drawn_in_the_docstring():
    drawn = set(re.findall(r"^[\s│]*(?:[├└]── )?([A-Z]\w+)", errors.__doc__ or "", re.MULTILINE))
    assert drawn >= set(tree())


def test_exit_codes_are_those_of_the_command_line():
    assert {kind.exit_code for kind in tree().values()} == {2, 3, 130}


def test_the_hint_comes_after_the_message():
    assert str(SteelyardError("it failed", hint="do this")) == "it failed\ndo this"
