"""What a file may say of an image, and when two say the same."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from steelyard.model.keys.image import ImageRecipe


def test_two_that_say_the_same_are_the_same_image():
    one = ImageRecipe(suite="bookworm", packages=("fio", "bc"))
    assert one.digest == ImageRecipe(suite="bookworm", packages=("bc", "fio", "bc")).digest
    assert hash(one) == hash(ImageRecipe(suite="bookworm", packages=("bc", "fio")))
    assert one.digest != ImageRecipe(suite="trixie", packages=("fio", "bc")).digest
    assert one.digest != ImageRecipe(suite="bookworm", packages=("fio", "bc"), files={"/a": ""}).digest


@pytest.mark.parametrize(
    "said",
    [
        {"suite": "--help"},
        {"suite": "bookworm", "packages": ["fio; id"]},
        {"suite": "bookworm", "packages": ["--aptopt=x"]},
        {"suite": "bookworm", "files": {"etc/x": ""}},
        {"suite": "bookworm", "files": {"/etc/../../x": ""}},
        {"suite": "bookworm", "files": {"/": ""}},
        {"suite": "bookworm", "mirror": "file:///etc"},
        {"suite": "bookworm", "mirror": "http://x/ --hook=x"},
        {},
    ],
)
def test_nothing_else_may_stand_there(said):
    with pytest.raises(ValidationError):
        ImageRecipe.model_validate(said)
