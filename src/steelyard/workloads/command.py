"""Measure any program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from steelyard.workloads.kit.program import ProgramWorkload


class CommandWorkload(ProgramWorkload):
    """Any program: its elapsed time, CPU time and peak memory, and figures extracted from its output.

    The program runs in its scratch directory. Files that it writes to the directory in the environment
    variable RAW are saved with the record, and figures can be read from them; a file that `from` names can
    also be written to the working directory. `peak_memory` is that of its largest process, as accounted by
    the kernel (getrusage(2), ru_maxrss). If this may include the memory of what started the program, such as
    a shell that waited for a common start, it is shown as `≤ 3.9 MiB`.

    It finds every service and role in its environment (STEELYARD_KV_ADDRESS, _PORT and _ENDPOINT for a
    service `kv`) and through `${kv.port}` and `${kv.address}` in `run`, `script`, `env` and `stdin`. A
    program or script in `run` next to the experiment file is found there; `${experiment.dir}` is that folder.

    With `to:`, its environment also describes that service: STEELYARD_SERVICE_ADDRESS, _PORT, _USER and
    _PASSWORD, the service's facts in capitals (CONTACT_NAMES and NODE_PORT of a Cassandra ring), and CQLSHRC
    for CQL. STEELYARD_CORES is the number of cores it has to itself alongside the service, SCRATCH its
    scratch.
    """

    examples: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {"run": ["sleep", "0.01"]},
        {
            "script": "echo rate: 12.5 MiB",
            "metrics": {"rate": {"regex": r"rate: ([\d.]+) MiB$", "unit": "MiB/s"}},
        },
        {"run": ["echo", '{"a": [1, 2]}'], "metrics": {"second": {"json": "a[1]", "better": "higher"}}},
    )
