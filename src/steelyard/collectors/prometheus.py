"""Figures that a service tells of itself in Prometheus's text format, version 0.0.4.

Source: "Exposition formats" and "Metric and label naming" in Prometheus's documentation. What an
exporter says is a stranger's text: it is bounded, and a line that is not of the format is left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StrictInt, field_validator

from steelyard.collectors.kit.intervals import iter_intervals, rate_of
from steelyard.plugin import Command, Endpoint, Tool
from steelyard.plugin.collector import CLOCKS, Collector, CollectorOptions, Column, Sample

_MOST_TEXT, _MOST_SERIES, _LONGEST = 1 << 20, 500, 200
_TEXT = "metrics"
_SECONDS = 4
_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]{0,199}"
_PORT = r"^[A-Za-z][A-Za-z0-9_]*$"
_PAIR = r"[a-zA-Z_][a-zA-Z0-9_]*[ \t]*=[ \t]*\"(?:[^\"\\]|\\.)*\"[ \t]*"
_LABELS = rf"\{{([ \t]*(?:{_PAIR}(?:,[ \t]*{_PAIR})*,?[ \t]*)?)\}}"
_LINE = re.compile(rf"({_NAME})[ \t]*(?:{_LABELS})?[ \t]+(\S{{1,40}})(?:[ \t]+-?\d{{1,20}})?[ \t]*", re.ASCII)
_LABEL = re.compile(r"([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*\"((?:[^\"\\]|\\.)*)\"", re.ASCII)
_ABOUT = re.compile(rf"# (HELP|TYPE) ({_NAME})(?:[ \t]+(.*))?", re.ASCII)
_TOTALS = re.compile(r"_(?:sum|count)$")
_UNITS = {"_seconds": "s", "_bytes": "B", "_ratio": "%"}
_WITH_TOTALS = ("histogram", "summary")
_RATES = {"s": "%", "B": "B/s", "1": "1/s", "%": "1/s"}  # seconds a second are a share of time
# The password is in no command line: curl reads it, and the certificate that it must trust, from a pipe.
_SCRAPE = f"""
printf %s "$STEELYARD_CONFIG" | curl --disable --config - "$@" 3<<END | head -c {_MOST_TEXT}
$STEELYARD_AUTHORITY
END
"""
_FETCH = ("--silent", "--fail", "--globoff", "--noproxy", "*", "--max-time", str(_SECONDS))


class PrometheusOptions(CollectorOptions):
    """What to ask of each server, and which of its metrics to record."""

    metrics: tuple[str, ...] = Field(
        min_length=1,
        max_length=100,
        description="The names of the metrics to record; a histogram or summary gives its _sum and _count",
    )
    path: str = Field("/metrics", pattern=r"^/[!-~]*$", description="The HTTP path of the metrics")
    port: Annotated[StrictInt, Field(ge=1, le=65535)] | Annotated[str, Field(pattern=_PORT)] | None = Field(
        None,
        description="A port number, or the name of one of the service's further ports; default: its own port",
    )

    @field_validator("metrics")
    @classmethod
    def _check_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if not re.fullmatch(_NAME, name, re.ASCII):
                raise ValueError(f"'{name:.60}' is not a metric's name such as http_requests_total")
            if name in CLOCKS:
                raise ValueError(f"'{name}' is the name of a clock, which every table has")
        return value


class PrometheusCollector(Collector[PrometheusOptions]):
    """Metrics of a service, or of an exporter, as it tells them in Prometheus's text format.

    `from` names the service; each of its servers is asked on its own host, with curl: by HTTPS if the service
    has an authority that signs its servers, with its password if it has one (and its user; a password without
    one is a bearer token). A counter is recorded as a rate, a gauge as it is; of a histogram or summary, the
    rates of `_sum` and `_count`, whose quotient is the mean, and a summary's quantiles. Labels follow the
    name: `node_cpu_seconds_total:cpu=0,mode=idle`. Names give the units, as Prometheus recommends (`_bytes`,
    `_seconds`, `_ratio`). Of one server, the first 500 series are recorded.
    Source: "Exposition formats" in Prometheus's documentation, text format 0.0.4.
    """

    Options = PrometheusOptions
    looks_at: ClassVar[Literal["host", "service"]] = "service"
    needs = (Tool("curl", apt="curl", dnf="curl"),)
    examples = (
        {
            "metrics": [
                "node_cpu_seconds_total",
                "node_load1",
                "node_memory_MemAvailable_bytes",
                "go_gc_duration_seconds",
            ]
        },
        {"metrics": ["http_requests_total"], "port": 9187, "path": "/admin/metrics?full=1", "every": "5s"},
    )

    def commands(self, endpoint: Endpoint | None) -> Mapping[str, Command]:
        """One request."""
        if endpoint is None:
            return {}
        trust = ("--cacert", "/dev/fd/3") if endpoint.authority else ()
        url = f"{'https' if endpoint.authority else 'http'}://{self._place(endpoint)}{self.options.path}"
        argv = ("sh", "-c", _SCRAPE, "sh", *_FETCH, *trust, url)
        env = {"STEELYARD_AUTHORITY": endpoint.authority} if endpoint.authority else {}
        secrets = {"STEELYARD_CONFIG": _log_in(endpoint)} if endpoint.password else {}
        return {_TEXT: Command(argv, env, secrets=secrets)}

    def reduce(self, raw: Mapping[str, str]) -> dict[str, str]:
        """The lines of the metrics that are asked for. The last line is left out where it is cut off."""
        text = raw.get(_TEXT, "")[:_MOST_TEXT].rpartition("\n")[0]
        names = self.options.metrics
        owners = (f"# {mark} {_owner(name)}" for name in names for mark in ("TYPE", "HELP"))
        words = (*names, *owners)
        kept = "".join(f"{line}\n" for line in text.split("\n") if line.startswith(words))
        return {_TEXT: kept} if kept else {}

    def columns(self, samples: Iterable[Sample] = ()) -> Mapping[str, Column]:
        """As the samples describe them; without any, as the names do."""
        kinds: dict[str, str] = {}
        abouts: dict[str, str] = {}
        families: dict[str, None] = {}
        for _, _, raw in samples:
            exposition = self._parse(raw, kinds, abouts)
            families |= dict.fromkeys(name.partition(":")[0] for name in exposition)
        named = families or dict.fromkeys(map(_family, self.options.metrics))
        return {name: _describe(name, kinds, abouts) for name in named}

    def rows(self, samples: Iterable[Sample]) -> Iterator[dict[str, float]]:
        """A row for every interval between two samples."""
        kinds: dict[str, str] = {}

        def parse(raw: Mapping[str, str]) -> dict[str, float]:
            return self._parse(raw, kinds, {})

        def compare(
            before: Mapping[str, float], after: Mapping[str, float], seconds: float
        ) -> dict[str, float]:
            return dict(_iter_figures(before, after, seconds, kinds))

        return iter_intervals(samples, parse, compare)

    def _place(self, endpoint: Endpoint) -> str:
        port = endpoint.port if self.options.port is None else self.options.port
        port = endpoint.facts.get(f"{port}_port", port)
        return f"[{endpoint.address}]:{port}" if ":" in endpoint.address else f"{endpoint.address}:{port}"

    def _parse(
        self, raw: Mapping[str, str], kinds: dict[str, str], abouts: dict[str, str]
    ) -> dict[str, float]:
        """Series by column; what the text says of families is added, but what was said before stands."""
        series: dict[str, float] = {}
        for line in raw.get(_TEXT, "")[:_MOST_TEXT].split("\n"):
            if about := _ABOUT.fullmatch(line):
                kind, name, text = about.groups("")
                (kinds if kind == "TYPE" else abouts).setdefault(_family(name), text.strip()[:_LONGEST])
            elif (
                (match := _LINE.fullmatch(line))
                and self._is_wanted(match[1], kinds)
                and len(series) < _MOST_SERIES
            ):
                value = _number(match[3])
                if value is not None:
                    series.setdefault(_column(match[1], match[2] or ""), value)
        return series

    def _is_wanted(self, name: str, kinds: Mapping[str, str]) -> bool:
        """Whether it is asked for by its own name, or by that of its histogram or summary."""
        names, owner = self.options.metrics, _owner(name)
        return name in names or (owner in names and kinds.get(_family(owner)) in _WITH_TOTALS)


def _log_in(endpoint: Endpoint) -> str:
    """A line of curl's configuration."""
    user = endpoint.facts.get("user")
    key, value = (
        ("user", f"{user}:{endpoint.password}")
        if user
        else ("header", f"Authorization: Bearer {endpoint.password}")
    )
    quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'{key} = "{quoted}"\n'


def _column(name: str, labels: str) -> str:
    pairs = ",".join(f"{key}={_unescape(value)}" for key, value in islice(_LABEL.findall(labels), 20))
    return f"{_family(name)}:{pairs[:_LONGEST]}" if pairs else _family(name)


def _family(name: str) -> str:
    """The name as a column has it, where a colon begins the labels."""
    return name.replace(":", "_")


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: " " if match[1] == "n" else match[1], text)


def _number(text: str) -> float | None:
    """A finite figure; what is none, such as NaN, is no figure."""
    try:
        value = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _owner(name: str) -> str:
    """The histogram or summary to which a sum or a count may belong."""
    return _TOTALS.sub("", name)


def _is_counter(family: str, kinds: Mapping[str, str]) -> bool:
    """By what the service says of it; where it says nothing, by its name."""
    if _owner(family) != family and kinds.get(_owner(family)) in _WITH_TOTALS:
        return True
    kind = kinds.get(family, "untyped")
    return family.endswith("_total") if kind in ("untyped", "unknown") else kind == "counter"


def _iter_figures(
    before: Mapping[str, float], after: Mapping[str, float], seconds: float, kinds: Mapping[str, str]
) -> Iterator[tuple[str, float]]:
    for name, value in after.items():
        is_counter = _is_counter(name.partition(":")[0], kinds)
        figure = rate_of(before, after, name, seconds) if is_counter else value
        if figure is not None and math.isfinite(figure):
            yield name, figure


def _describe(family: str, kinds: Mapping[str, str], abouts: Mapping[str, str]) -> Column:
    base = family.removesuffix("_total").removesuffix("_sum")
    unit = next((unit for suffix, unit in _UNITS.items() if base.endswith(suffix)), "1")
    said = abouts.get(family) or abouts.get(_owner(family), "")
    about = " ".join(_unescape(said).split()) or f"{family} as the service tells it"
    return Column(_RATES[unit], about, "rate") if _is_counter(family, kinds) else Column(unit, about)
