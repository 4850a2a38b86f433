"""A PyCOMPSs application on the hosts of a role, beside a database."""

from __future__ import annotations

from pathlib import PurePosixPath
from xml.sax.saxutils import quoteattr

from pydantic import Field

from steelyard.plugin import Absolute, Command, Metric, Output, Place, Reading, Tool
from steelyard.plugin.workload import ANY_SERVICE, Workload, WorkloadOptions
from steelyard.workloads.kit.service_env import add_service_variables, variables

_FILES = {
    "project.xml": "COMPSS_PROJECT",
    "resources.xml": "COMPSS_RESOURCES",
    "storage_conf.cfg": "COMPSS_STORAGE_CONF",
    "storage_props.cfg": "COMPSS_STORAGE_PROPS",
}
# Where COMPSs lies is known on the host alone. No file is made executable; `exec` so that signals reach it.
_START = """
[ -d "$SCRATCH" ] && cd "$SCRATCH"
for name in COMPSS_PROJECT COMPSS_RESOURCES COMPSS_STORAGE_CONF COMPSS_STORAGE_PROPS; do
  eval "file=\\$${name}_FILE"; eval "text=\\$$name"
  printf '%s' "$text" | sed "s|@COMPSS_HOME@|${COMPSS_HOME:-$COMPSS_DEFAULT}|" > "$file"
done
cd "$APPLICATION_DIRECTORY"
command -v runcompss > /dev/null || {
  echo 'runcompss is not on PATH: load the COMPSs module, or install COMPSs' >&2; exit 127; }
exec runcompss --project="$COMPSS_PROJECT_FILE" --resources="$COMPSS_RESOURCES_FILE" \
  --storage_conf="$COMPSS_STORAGE_CONF_FILE" "$@"
"""


class PycompssOptions(WorkloadOptions):
    """`run`: the application with its arguments, `flags`: those of runcompss before it."""

    run: tuple[str, ...] = Field(min_length=1, description="The application's file and its arguments")
    flags: tuple[str, ...] = Field((), description="Flags of runcompss, which override Steelyard's")
    cwd: Absolute | None = Field(
        None, description="The directory to run in, on every host; default: its scratch"
    )
    ports: int = Field(43001, ge=1024, le=65000, description="The first of two ports for each worker")


class Pycompss(Workload[PycompssOptions]):
    """A PyCOMPSs application: `runcompss` starts it on the first host, and all hosts of `on` are workers.

    Its configuration is written to its scratch: `project.xml` and `resources.xml` with the workers and their
    cores, `storage_conf.cfg` with the nodes of the database that `to:` names, one per line, and
    `storage_props.cfg` with the variables that Hecuba reads; STORAGE_PROPS names this last file. COMPSs is
    expected in COMPSS_HOME (/opt/COMPSs). `wall` is the time from start to end.

    **Source**: https://compss-doc.readthedocs.io, "Persistent Storage", "COMPSs + Hecuba".
    """

    Options = PycompssOptions
    needs = (Tool("runcompss"),)
    talks_to = frozenset({ANY_SERVICE})
    covers = ("C4S.19",)
    examples = ({"run": ["app.py", "3"], "flags": ["--lang=python"]},)

    def metrics(self) -> tuple[Metric, ...]:
        """How long it took."""
        return (Metric("wall", "s", "lower", "elapsed time of runcompss", over_copies="max"),)

    def command(self, place: Place) -> Command:
        """Runcompss on the first host; nothing on the others, which it reaches by itself."""
        if place.copy:
            return Command(("true",))
        files = {f"{name}_FILE": str(place.scratch / file) for file, name in _FILES.items()}
        cwd = PurePosixPath(self.options.cwd) if self.options.cwd else None
        told = {
            **files,
            **_contents(place, self.options.ports),
            "COMPSS_DEFAULT": "/opt/COMPSs",
            "SCRATCH": str(place.scratch),
            "APPLICATION_DIRECTORY": str(cwd or place.scratch),
            "STORAGE_PROPS": str(place.scratch / "storage_props.cfg"),
        }
        argv = ("sh", "-eu", "-c", _START, "sh", *self.options.flags, *self.options.run)
        return add_service_variables(Command(argv, told, cwd), place)

    def parse(self, phase: str, output: Output) -> Reading:
        """The kernel's account of it."""
        return Reading({"wall": output.exit.wall})


def _contents(place: Place, ports: int) -> dict[str, str]:
    """What stands in each file, by the name of the variable that brings it."""
    to = place.to
    known = variables(to) if to else {}
    nodes = known.get("CONTACT_NAMES", to.address if to else "").split(",")
    props = [f"export {name}={value}" for name, value in known.items() if not name.startswith("STEELYARD_")]
    return {
        "COMPSS_PROJECT": project(place.peers, place.scratch / "worker"),
        "COMPSS_RESOURCES": resources(place.peers, place.share or place.cores, ports),
        "COMPSS_STORAGE_CONF": "".join(f"{node}\n" for node in nodes if node),
        "COMPSS_STORAGE_PROPS": "".join(f"{line}\n" for line in props),
    }


def project(workers: tuple[str, ...], directory: PurePosixPath) -> str:
    """Which hosts the application uses, where COMPSs lies on them, and in which directory it works."""
    nodes = (
        f"  <ComputeNode Name={quoteattr(worker)}>\n    <InstallDir>@COMPSS_HOME@</InstallDir>\n"
        f"    <WorkingDir>{directory}/</WorkingDir>\n  </ComputeNode>\n"
        for worker in workers
    )
    return f"{_HEAD}<Project>\n  <MasterNode/>\n{''.join(nodes)}</Project>\n"


def resources(workers: tuple[str, ...], cores: int, ports: int) -> str:
    """What each of them has: so many cores, and how the master reaches it."""
    adaptor = (
        '    <Adaptors>\n      <Adaptor Name="es.bsc.compss.nio.master.NIOAdaptor">\n'
        "        <SubmissionSystem><Interactive/></SubmissionSystem>\n"
        f"        <Ports><MinPort>{ports}</MinPort><MaxPort>{ports + 1}</MaxPort></Ports>\n"
        "      </Adaptor>\n    </Adaptors>\n"
    )
    processor = f'    <Processor Name="cpu"><ComputingUnits>{cores}</ComputingUnits></Processor>\n'
    nodes = (
        f"  <ComputeNode Name={quoteattr(worker)}>\n{processor}{adaptor}  </ComputeNode>\n"
        for worker in workers
    )
    return f"{_HEAD}<ResourcesList>\n{''.join(nodes)}</ResourcesList>\n"


_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
