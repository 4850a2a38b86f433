"""A real Slurm cluster for measuring, of two nodes: the same code as `make cluster-up`."""

from __future__ import annotations

import importlib.machinery
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from bench.process import NotMeasured
from bench.setting import changed

SCRIPT = Path(__file__).parents[1] / "scripts" / "cluster"


@contextmanager
def running(place: Path) -> Iterator[None]:
    """Slurm's commands, here and in what we start, talk to it for as long as the block lasts.

    Raises NotMeasured where there is no Slurm, or it does not start.
    """
    code = _script()
    if lacking := code.missing():
        raise NotMeasured(f"Slurm is not installed (apt: {' '.join(lacking)} slurm-wlm-basic-plugins)")
    cluster = code.Cluster(place)
    try:
        cluster.up(2)
        environment = cluster.environment()
        with changed({name: environment[name] for name in ("SLURM_CONF", "PATH")}):
            yield
    except code.ClusterError as error:
        raise NotMeasured(str(error)) from error
    finally:
        cluster.down()


def _script() -> ModuleType:
    """scripts/cluster as a module; it has no suffix, being a command."""
    loader = importlib.machinery.SourceFileLoader("steelyard_cluster", str(SCRIPT))
    spec = importlib.util.spec_from_loader("steelyard_cluster", loader)
    if spec is None:
        raise NotMeasured(f"{SCRIPT} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module
