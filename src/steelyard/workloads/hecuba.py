"""Measure an application that keeps its objects in Cassandra through Hecuba."""

from __future__ import annotations

from dataclasses import replace

from steelyard.plugin import Command, Place, Tool
from steelyard.workloads.kit.program import ProgramWorkload

# `env` is started, with the environment's programs first on PATH: so `python3` is the one that has Hecuba.
_VERSION = "from importlib.metadata import version; print(version('hecuba'))"
HECUBA = Tool("hecuba", pip="hecuba.lock", program="env", version=("python3", "-c", _VERSION))


class Hecuba(ProgramWorkload):
    """A Python application that stores its objects in a Cassandra ring through the Hecuba mapper.

    **Measures** what `command` measures, and the figures that the application prints (`metrics`). Its
    `python3` is that of an environment with Hecuba, which `steelyard install hecuba` creates (PyPI has it for
    Python 3.11 and older); Hecuba finds the ring through CONTACT_NAMES and NODE_PORT.

    **It cannot log in**, so its ring needs `authentication: none`, and either hosts without other users or
    `open: true`. It does not support TLS either (`tls: false` unless hosts have loopback addresses).

    **Source**: Hecuba 1.2, Barcelona Supercomputing Center, https://github.com/bsc-dd/hecuba; used in a
    thesis on key-value data services in HPC (2018), 2.3.
    """

    talks_to = frozenset({"cassandra"})
    needs = (HECUBA,)
    covers = ("C4S.19",)
    examples = ({"run": ["python3", "-c", _VERSION]},)

    def command(self, place: Place) -> Command:
        """The application, with Hecuba's Python first on PATH."""
        command = super().command(place)
        return replace(command, argv=HECUBA.argv(*command.argv))
