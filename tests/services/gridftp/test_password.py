"""The oldest scheme of crypt(3), against what C libraries make of the same passwords."""

from __future__ import annotations

import pytest

from steelyard.services.gridftp.password import LENGTH, hash_password, passwd_line


@pytest.mark.parametrize(
    ("password", "expected"),
    [
        ("geheim-_x", "..JoKnwArGb6A"),
        ("geheim-_", "..JoKnwArGb6A"),
        ("a", "..4/MD05HLWjI"),
        ("", "..X8NBuQ4l6uQ"),
        ("Zz9_-0Aq", "..TDimTfFxVLE"),
        ("abcdefgh", "..dCr2UJOULd6"),
    ],
)
def test_it_hashes_as_the_c_library_does(password: str, expected: str) -> None:
    """Made by `perl -e 'print crypt($ARGV[0], "..")'` with glibc's libcrypt."""
    assert hash_password(password) == expected


def test_more_letters_than_count_are_not_given_out() -> None:
    assert hash_password("a" * LENGTH) == hash_password("a" * (LENGTH + 1))
    assert hash_password("a" * (LENGTH - 1)) != hash_password("a" * LENGTH)


def test_the_file_has_one_user_whose_home_is_what_is_served() -> None:
    fields = passwd_line("geheim-_", "/scratch/data").rstrip("\n").split(":")
    assert (fields[0], fields[1], fields[5]) == ("steelyard", hash_password("geheim-_"), "/scratch/data")
    assert len(fields) == 7
