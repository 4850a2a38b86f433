"""A program that no registry has, and that each site brings its own way: on PATH, as a module, or by Spack.

Names of programs, modules and specs are words of the command line, never part of a script.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, ClassVar, Self

from pydantic import Field, field_validator, model_validator

from steelyard.model.command import Command
from steelyard.model.tool import Tool
from steelyard.workloads.base import Workload, WorkloadOptions

_PROGRAM = re.compile(r"/[^\0\n]+|[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_MODULE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+/@-]*")
_SPEC = re.compile(r"[A-Za-z0-9_/][A-Za-z0-9_.+/@%~^=: ,-]*")

# The shell function `module` is there in login shells alone, so that its file is read where sites have it.
_MODULES = """
for file in ${LMOD_PKG:+"$LMOD_PKG/init/sh"} ${MODULESHOME:+"$MODULESHOME/init/sh"} \\
    /etc/profile.d/modules.sh /etc/profile.d/lmod.sh /etc/profile.d/z00_lmod.sh \\
    /usr/share/modules/init/sh /usr/share/lmod/lmod/init/sh
do
    command -v module >/dev/null && break
    [ ! -r "$file" ] || . "$file" >/dev/null 2>&1
done
command -v module >/dev/null || {
    echo "this host has no command 'module' (Environment Modules or Lmod): remove \\`modules\\`, and give" \\
        "\\`program\\` the path of $program" >&2
    exit 127
}
while [ "$count" -gt 0 ]; do
    module load "$1" || { echo "'module load $1' failed: 'module avail' lists what there is" >&2; exit 127; }
    shift; count=$((count - 1))
done
"""
_SPACK = """
spack=$(command -v spack || command -v "${SPACK_ROOT:-/opt/spack}/bin/spack") || {
    echo "this host has no command 'spack': set SPACK_ROOT, or give \\`program\\` the path of $program" >&2
    exit 127
}
place=$("$spack" location -i "$1") || {
    echo "Spack has not installed '$1': run 'spack install $1'" >&2; exit 127; }
PATH=$place/bin:$PATH; export PATH; shift
"""
_EXEC = """
command -v "$program" >/dev/null || {
    echo "$program is not there, although what should bring it was loaded" >&2; exit 127; }
exec "$program" "$@"
"""


GET_IT = "load it with `modules: [NAME/VERSION]`, name its Spack package with `spack: SPEC`, or give its path"


class SiteProgramOptions(WorkloadOptions):
    """Where the program comes from. `DEFAULT` is its name."""

    DEFAULT: ClassVar[str]

    program: str | None = Field(
        None, description="Name of the program on PATH, or its absolute path. Default: its usual name."
    )
    modules: tuple[str, ...] = Field(
        (), description="Environment modules to load on each host before it starts, such as [ior/4.0.0]."
    )
    spack: str | None = Field(None, description="Spec of the package that Spack installed it as.")

    @field_validator("program")
    @classmethod
    def _check_program(cls, value: str | None) -> str | None:
        if value is not None and not _PROGRAM.fullmatch(value):
            raise ValueError(f"'{value}' is neither a program's name nor an absolute path")
        return value

    @field_validator("modules")
    @classmethod
    def _check_modules(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if not _MODULE.fullmatch(name):
                raise ValueError(f"'{name}' is not the name of a module, such as ior/4.0.0")
        return value

    @field_validator("spack")
    @classmethod
    def _check_spack(cls, value: str | None) -> str | None:
        if value is not None and not _SPEC.fullmatch(value):
            raise ValueError(f"'{value}' is not a spec of Spack, such as ior@4.0.0 or /hash")
        return value

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        if self.spack and self.modules:
            raise ValueError("modules: remove it, or spack; the program comes from one of them")
        if self.spack and (self.program or "").startswith("/"):
            raise ValueError("program: an absolute path needs no `spack`; remove one of them")
        return self

    @property
    def program_name(self) -> str:
        """What is started."""
        return self.program or self.DEFAULT


def site_command(options: SiteProgramOptions, *arguments: str, **env: str) -> Command:
    """The program with its arguments, once what brings it has been loaded."""
    name = options.program_name
    if options.modules:
        words = (str(len(options.modules)), *options.modules)
        return _shell(f"program=$1 count=$2; shift 2\n{_MODULES}{_EXEC}", name, *words, *arguments, **env)
    if options.spack:
        return _shell(f"program=$1; shift\n{_SPACK}{_EXEC}", name, options.spack, *arguments, **env)
    return Command((name, *arguments), env)


def _shell(script: str, *words: str, **env: str) -> Command:
    return Command(("sh", "-c", script, "sh", *words), env)


def site_tools(workload: Workload[Any]) -> tuple[Tool, ...]:
    """What must be on PATH: nothing where a module, Spack or a path brings it."""
    options: SiteProgramOptions = workload.options
    if options.modules or options.spack or options.program_name.startswith("/"):
        return ()
    return tuple(replace(tool, name=options.program_name) for tool in workload.needs)
