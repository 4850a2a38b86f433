"""Paths among options."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from steelyard.model.paths import Absolute, ScratchOrAbsolute, is_service


@pytest.mark.parametrize("path", ["/", "/a b/c", "//shared"])
def test_a_path_from_the_root_is_taken_as_it_is(path):
    assert TypeAdapter(Absolute).validate_python(path) == path
    assert TypeAdapter(ScratchOrAbsolute).validate_python(path) == path


@pytest.mark.parametrize("path", ["", "a/b", "~/a", "./a", "/a\0b"])
def test_others_are_refused_by_their_name(path):
    with pytest.raises(ValidationError, match="must be an absolute path"):
        TypeAdapter(Absolute).validate_python(path)
    with pytest.raises(ValidationError, match="is not 'scratch', an absolute path or the name of a service"):
        TypeAdapter(ScratchOrAbsolute).validate_python(path)


def test_the_run_has_a_place_of_its_own():
    assert TypeAdapter(ScratchOrAbsolute).validate_python("scratch") == "scratch"
    with pytest.raises(ValidationError):
        TypeAdapter(Absolute).validate_python("scratch")


def test_a_service_is_named_as_it_is():
    assert TypeAdapter(ScratchOrAbsolute).validate_python("files") == "files"
    assert [is_service(name) for name in ("files", "scratch", "/files")] == [True, False, False]
