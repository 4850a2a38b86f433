"""What of fio's options may pass, and why the rest may not."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from steelyard.workloads.kit.fio.check import JobOptions, check_job_name, format_value
from steelyard.workloads.kit.fio.options import DIRECTIONS, ENGINES, KINDS, REFUSED, SYNCHRONOUS


def mistakes(options: dict[str, Any]) -> list[Any]:
    try:
        JobOptions.model_validate(options)
    except ValidationError as error:
        return error.errors()
    return []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rw", "randrw"),
        ("rw", "read:8"),
        ("bs", "4k"),
        ("bs", 4096),
        ("bs", "4k,64k"),
        ("bsrange", "4k-64k,1m-4m"),
        ("bssplit", "4k/60:64k/40"),
        ("size", "1g"),
        ("size", "50%"),
        ("filesize", "4M-1G"),
        ("rate", "10m,"),
        ("nice", -5),
        ("cpumask", "0x3"),
        ("runtime", 10),
        ("runtime", "500ms"),
        ("ramp_time", "2s"),
        ("thinktime", "10us"),
        ("time_based", None),
        ("direct", True),
        ("direct", 0),
        ("filename", "one:two"),
        ("filename_format", "data.$jobnum.$filenum"),
        ("ioengine", "io_uring"),
        ("verify", "crc32c"),
        ("buffer_pattern", "0xdeadface"),
        ("mem", "mmaphuge"),
        ("zoneskip", "2z"),
        ("description", "what a day"),
        ("hipri", True),
    ],
)
def test_options_that_pass(key, value):
    assert JobOptions.model_validate({key: value}).explicit_options() == {key: value}


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("rww", "read", "Extra inputs are not permitted"),
        ("iodpeth", 4, "Extra inputs are not permitted"),
        ("rw", "raed", "'raed' is not one of read, randread"),
        ("bs", "4x", "'4x' is not a number as fio writes it"),
        ("bs", "", "'' is not a number"),
        ("size", "big", "'big' is not a number"),
        ("bs", "4KiB", "counts '4KiB' in units of 1000; write '4K' for units of 1024"),
        ("bsrange", "4kib-8kib", "write '4k-8k'"),
        ("runtime", "5 parsec", "'5 parsec' is not a time"),
        ("direct", "maybe", "'maybe' is neither true nor false"),
        ("filename", "/dev/sda", "'/dev/sda' is not a plain file name"),
        ("filename", "../x", "not a plain file name"),
        ("filename", "ok:..", "not a plain file name"),
        ("filename", "-", "not a plain file name"),
        ("filename_format", "/tmp/$jobnum", "not a plain file name"),
        ("ioengine", "net", "'net' is not a file engine"),
        ("ioengine", "external:/tmp/evil.so", "not a file engine"),
        ("ioengine", "libaoi", "did you mean 'libaio'?"),
        ("mem", "mmaphuge:/dev/hugepages/x", "names a file outside"),
        ("buffer_pattern", "'/etc/passwd'", "refers to a file; give"),
        ("description", "one\nexec_prerun=rm", "one line without control characters"),
        ("description", "a\0b", "one line without control characters"),
        ("exec_prerun", "true", "it runs a program"),
        ("exec_postrun", "true", "it runs a program"),
        ("directory", "/", "set it next to `job:`"),
        ("opendir", "/etc", "reaches outside the trial's scratch"),
        ("write_bw_log", "x", "outside the record"),
        ("read_iolog", "x", "reads a trace"),
        ("ioscheduler", "none", "changes the host"),
        ("group_reporting", True, "merged after the depth"),
        ("name", "x", "names the job"),
        ("output", "/tmp/x", "Extra inputs are not permitted"),
        ("server", "x", "Extra inputs are not permitted"),
        ("client", "x", "Extra inputs are not permitted"),
        ("include", "x", "Extra inputs are not permitted"),
    ],
)
def test_options_that_do_not(key, value, said):
    (found,) = mistakes({key: value})
    assert found["loc"] == (key,)
    assert said in found["msg"]


def test_every_mistake_is_told_once_where_it_is():
    found = mistakes({"rww": "read", "bs": "4x", "size": "1g"})
    assert sorted(entry["loc"] for entry in found) == [("bs",), ("rww",)]


def test_an_option_with_a_hyphen_keeps_its_name():
    assert JobOptions.model_validate({"hugepage-size": "2m"}).explicit_options() == {"hugepage-size": "2m"}


@pytest.mark.parametrize("name", ["job", "read-4k", "a.b_c", "9"])
def test_names_of_jobs(name):
    assert check_job_name(name) == name


@pytest.mark.parametrize("name", ["global", "", "a b", "../x", "x/y", "-x", "x" * 99, "a\nb", "ä"])
def test_names_that_jobs_cannot_have(name):
    with pytest.raises(ValueError, match="cannot name a job"):
        check_job_name(name)


@pytest.mark.parametrize(
    ("value", "text"), [(True, "1"), (False, "0"), (None, "1"), (4, "4"), (0.5, "0.5"), ("4k", "4k")]
)
def test_values_as_fio_reads_them(value, text):
    assert format_value(value) == text


def test_the_tables_agree():
    assert set(REFUSED) <= set(KINDS)
    assert SYNCHRONOUS < ENGINES
    assert {way for ways in DIRECTIONS.values() for way in ways} == {"read", "write", "trim"}


scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20))


@given(st.dictionaries(st.one_of(st.sampled_from(sorted(KINDS)), st.text(max_size=9)), scalars, max_size=4))
def test_whatever_passes_is_harmless(options):
    wrong = {entry["loc"][0] for entry in mistakes(options)}
    for key, value in options.items():
        if key not in wrong:
            assert key in KINDS
            assert key not in REFUSED
            assert not re.search(r"[\x00-\x1f]", format_value(value))
            assert key not in ("filename", "filename_format") or "/" not in format_value(value)


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_the_table_knows_what_this_fio_knows():
    """A newer fio may know more; nothing that an older one knows is missing."""
    said = subprocess.run(["fio", "--cmdhelp=all"], capture_output=True, text=True, check=True).stdout
    known = {line.partition(":")[0].strip() for line in said.splitlines() if ":" in line}
    assert len(known) > 150
    version = subprocess.run(["fio", "--version"], capture_output=True, text=True, check=True).stdout
    if version.strip() <= "fio-3.33":
        assert known <= set(KINDS)
    assert len(known & set(KINDS)) > 150
