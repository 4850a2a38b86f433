"""`use: object`: an object store under a mix of reads, writes, listings and deletions."""

from __future__ import annotations

import json
from typing import Any

from steelyard.plugin import Command, Endpoint, Metric, Output, Phase, Place, Reading, SeriesSample
from steelyard.plugin.workload import Workload
from steelyard.workloads.kit.client import authority_variables, endpoint, fail_with, fail_without_server
from steelyard.workloads.kit.load.figures import LoadFigures
from steelyard.workloads.kit.load.options import LOAD
from steelyard.workloads.kit.load.output import parse_output
from steelyard.workloads.object.options import ObjectOptions

_SECRET = "STEELYARD_SERVICE_PASSWORD"  # noqa: S105 - the name of a variable
_SECRETS = {"s3": "AWS_SECRET_ACCESS_KEY", "swift": "ST_KEY"}
_STAGES = ("prepare", "run", "cleanup")
_GUESS = 500.0  # operations per second, for a first estimate


class Object(Workload[ObjectOptions]):
    """An object store under COSBench's model: workers that read, write, list and delete objects.

    **Measures** `throughput`, `bandwidth` and `success_ratio`, and for each operation of the mix the
    histogram of its response time (`read_p50` … `read_p999`, `read_mean`, `read_max`), its throughput and its
    failures. With a `rate` also `read_scheduled`, the response time from when an operation was due, which is
    listed first: a store that stalls delays later operations, which the plain response time does not show.

    **Source**: Zheng et al., "COSBench: Cloud Object Storage Benchmark", ICPE 2013: its workload model and
    its metrics, carried out by Steelyard's own driver over S3 (AWS Signature Version 4, buckets addressed by
    path) or Swift (its first version of authentication, as radosgw has it). Containers and objects are
    prepared before the measurement and deleted after it; neither is measured.

    **How to read it.** `connections` are COSBench's workers. The content of objects follows from the trial's
    seed, and every read is compared with it byte by byte: a wrong answer is a failure, as is any status but
    success. `facts.failures` counts the causes. Response times are those of successful operations, from the
    request to the last byte of the answer. Reads and listings use prepared objects; writes create new ones,
    and deletions remove those, the oldest first. A driver is one thread: use `copies` on several cores or
    hosts for more. Where the driver itself was late, the trial is marked `fallback`; `driver_delay` has
    figures. Checking content takes client time, about 1 s for several GiB.
    """

    Options = ObjectOptions
    needs = (LOAD,)
    talks_to = frozenset({"s3", "ceph"})
    covers = ("SCT5", "SCT8", "SCT10")
    examples = (
        {
            "protocol": "s3",
            "connections": 2,
            "objects": 50,
            "size": "4KiB",
            "mix": {"read": 6, "write": 2, "list": 1, "delete": 1},
            "operations": 1000,
        },
        {
            "protocol": "s3",
            "connections": 4,
            "containers": 1,
            "objects": 20,
            "size": [
                {"from": "1KiB", "to": "8KiB", "weight": 3},
                {"from": "256KiB", "to": "300KiB", "weight": 1},
            ],
            "mix": {"read": 0.5, "write": 0.5},
            "rate": "60/s",
            "arrivals": "poisson",
            "duration": "4s",
            "omit": "1s",
        },
    )

    def metrics(self) -> tuple[Metric, ...]:
        """Those of the operations in the mix."""
        return self._figures().metrics()

    def phases(self, place: Place) -> tuple[Phase, ...]:
        """Prepare, run, clean up; of these the second is measured."""
        return tuple(
            Phase(stage, self._make_command(stage, place), measured=stage == "run") for stage in _STAGES
        )

    def parse(self, phase: str, output: Output) -> Reading:
        """The driver's summary and its logs. Raises ParseFailure."""
        return self._figures().reading(parse_output(output, self.options.omit))

    def series(self, phase: str, output: Output) -> tuple[SeriesSample, ...]:
        """Throughput, bandwidth and response times over time. Raises ParseFailure."""
        return self._figures().series(parse_output(output, self.options.omit))

    def closed_loop_advice(self) -> str | None:
        """Unless operations are due at a rate."""
        return None if self.options.rate else "give `rate`"

    def seconds(self) -> float | None:
        """The run as it is asked for; preparing, cleaning up, and operations without a rate, by a guess."""
        options, rate = self.options, self.options.rate or _GUESS
        run = options.duration or (options.operations or 0) / rate
        return run + 2 * options.containers * options.objects / _GUESS

    def _figures(self) -> LoadFigures:
        return LoadFigures(self.options, self.options.mix.kinds(), frozenset({"read", "write"}))

    def _make_command(self, stage: str, place: Place) -> Command:
        to = endpoint(place, self.options)
        if to is None:
            return fail_without_server("object")
        protocol = self.options.protocol or to.facts.get("protocol", "s3")
        if protocol not in _SECRETS:
            return fail_with(f"object speaks s3 and swift, not '{protocol}'")
        secret = _SECRET if place.to else self.options.secret_variable or _SECRETS[protocol]
        job = self._make_job(stage, place, to, protocol) | {"secret": secret}
        secrets = {_SECRET: to.password} if to.password else {}
        env = authority_variables(to)
        return Command(LOAD.argv("object"), env, place.scratch, json.dumps(job), secrets=secrets)

    def _make_job(self, stage: str, place: Place, to: Endpoint, protocol: str) -> dict[str, Any]:
        options = self.options
        tls = to.facts.get("tls") == "true" if place.to else options.tls
        return {
            **(self._find_login(to) if protocol == "swift" else {}),
            "stage": stage,
            "api": protocol,
            "server": to.address,
            "port": to.port,
            "tls": tls,
            "user": to.facts.get("user", "") if place.to else options.user,
            "region": to.facts.get("region", options.region),
            "names": {
                "prefix": f"{options.prefix}-{place.seed:x}-{place.copy}",
                "containers": options.containers,
                "objects": options.objects,
                "sizes": [
                    {"weight": weight, "low": low, "high": high} for weight, low, high in options.bands
                ],
                "seed": place.seed,
            },
            "mix": options.mix.model_dump(),
            "page": options.page,
            "raw": str(place.raw),
            "pace": options.pace(place),
        }

    def _find_login(self, to: Endpoint) -> dict[str, str]:
        _, _, place = to.facts.get("auth_url", "").partition("://")
        return {"auth_path": f"/{place.partition('/')[2]}" if place else self.options.auth_path}
