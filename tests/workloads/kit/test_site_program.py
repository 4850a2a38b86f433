"""A site's own program: from PATH, by modules and by Spack, with stand-ins for both; and what goes wrong."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import ClassVar

import pytest
from pydantic import ValidationError

from steelyard.workloads.ior import Ior, IorOptions
from steelyard.workloads.kit.site_program import SiteProgramOptions, site_command

MODULE = """module() {
    echo "$@" >> "$CALLS"
    [ "$1 $2" = 'load ior/4.0' ] || { echo "no module $2" >&2; return 1; }
    PATH=$BROUGHT:$PATH
}
"""
SPACK = """#!/bin/sh
echo "$@" >> "$CALLS"
[ "$1 $2 $3" = 'location -i ior@4 %gcc' ] && dirname "$BROUGHT" || { echo 'no such package' >&2; exit 1; }
"""
HARM = "x; touch harmed $(touch harmed) `touch harmed`"


class Options(SiteProgramOptions):
    """Of a program that a site may have."""

    DEFAULT: ClassVar[str] = "measure-it"


@pytest.fixture
def site(tmp_path: Path) -> dict[str, str]:
    """What a host's environment is; the program lies where no PATH leads."""
    brought, there = tmp_path / "package" / "bin", tmp_path / "bin"
    brought.mkdir(parents=True)
    there.mkdir()
    (brought / "measure-it").write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    (there / "spack").write_text(SPACK)
    (tmp_path / "lmod" / "init").mkdir(parents=True)
    (tmp_path / "lmod" / "init" / "sh").write_text(MODULE)
    for path in (brought / "measure-it", there / "spack"):
        path.chmod(0o755)
    return {
        "PATH": f"{there}:/usr/bin:/bin",
        "BROUGHT": str(brought),
        "CALLS": str(tmp_path / "calls"),
        "LMOD_PKG": str(tmp_path / "lmod"),
    }


def run(site: dict[str, str], tmp_path: Path, **options: object) -> subprocess.CompletedProcess[str]:
    command = site_command(Options(**options), "-a", HARM, "")
    done = subprocess.run(command.argv, env=site, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert not (tmp_path / "harmed").exists()
    return done


@pytest.mark.parametrize("options", [{"modules": ["ior/4.0"]}, {"spack": "ior@4 %gcc"}], ids=str)
def test_what_brings_it_is_loaded_and_arguments_are_no_script(site, tmp_path, options):
    done = run(site, tmp_path, **options)
    assert (done.returncode, done.stdout) == (0, f"-a|{HARM}||"), done.stderr


def test_on_path_or_by_its_path_it_is_started_as_it_is(site, tmp_path):
    assert site_command(Options(), "-x").argv == ("measure-it", "-x")
    done = run(site, tmp_path, program=f"{site['BROUGHT']}/measure-it")
    assert done.stdout == f"-a|{HARM}||"


@pytest.mark.parametrize(
    ("options", "change", "said"),
    [
        ({"modules": ["ior/4.0", "ior/9"]}, {}, "'module load ior/9' failed: 'module avail' lists"),
        ({"modules": ["ior/4.0"], "program": "other"}, {}, "other is not there, although"),
        ({"spack": "ior@9"}, {}, "Spack has not installed 'ior@9': run 'spack install ior@9'"),
        (
            {"spack": "ior"},
            {"PATH": "/usr/bin:/bin"},
            "no command 'spack': set SPACK_ROOT, or give `program`",
        ),
    ],
)
def test_what_is_missing_is_named_with_what_to_do(site, tmp_path, options, change, said):
    done = run({**site, **change}, tmp_path, **options)
    assert done.returncode == 127
    assert said in done.stderr


@pytest.mark.skipif(
    any(Path(p).exists() for p in ("/etc/profile.d/modules.sh", "/etc/profile.d/lmod.sh")),
    reason="has modules",
)
def test_a_host_without_modules_says_so(site, tmp_path):
    done = run({**site, "LMOD_PKG": str(tmp_path)}, tmp_path, modules=["ior/4.0"])
    assert done.returncode == 127
    assert "no command 'module' (Environment Modules or Lmod): remove `modules`" in done.stderr


@pytest.mark.parametrize(
    "options",
    [
        {"modules": ["-f"]},
        {"modules": ["a b"]},
        {"modules": ["$(x)"]},
        {"spack": "-x"},
        {"spack": "a;b"},
        {"program": "a b"},
        {"program": "-x"},
        {"program": "../x"},
        {"modules": ["ior"], "spack": "ior"},
        {"program": "/opt/ior", "spack": "ior"},
    ],
    ids=str,
)
def test_what_is_no_name_is_refused(options):
    with pytest.raises(ValidationError):
        Options(**options)


def test_only_what_must_be_on_path_is_looked_for():
    def names(**options: object) -> list[str]:
        return [tool.name for tool in Ior(IorOptions(**options)).tools(None)]

    assert names() == ["ior"]
    assert names(program="ior-4") == ["ior-4"]
    assert names(program="/opt/ior") == names(modules=["ior"]) == names(spack="ior") == []
    assert "modules: [NAME/VERSION]" in Ior.needs[0].advice
    assert not Ior.needs[0].is_obtainable
    assert os.environ.get("IOR_FAULT") is None
