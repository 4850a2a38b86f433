"""Prometheus's text format: hostile text, a real exporter, TLS and passwords."""

from __future__ import annotations

import asyncio
import contextlib
import http.server
import json
import math
import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from loopback import HOST, free_port, listening
from steelyard.collectors.prometheus import PrometheusCollector, PrometheusOptions
from steelyard.controller.machine.sampler import CollectorSource
from steelyard.hosts.local import LocalHost
from steelyard.hosts.token import Token
from steelyard.model.column import CLOCKS, Column
from steelyard.model.command import Endpoint
from steelyard.services.kit.certificates import Authority

RECORDING = Path(__file__).parents[1] / "data" / "collectors" / "prometheus.ndjson"
EXPORTER = "prometheus-node-exporter"
needs_curl = pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")


def made(*metrics: str, **more: Any) -> PrometheusCollector:
    return PrometheusCollector(PrometheusOptions(metrics=metrics, **more))


def table(collector: PrometheusCollector, *texts: str) -> list[dict[str, float]]:
    """The rows of samples that are 2 s apart, as they are kept, without the clocks."""
    samples = [(100.0 + 2 * n, 2.0 * n, collector.reduce({"metrics": text})) for n, text in enumerate(texts)]
    return [{k: v for k, v in row.items() if k not in CLOCKS} for row in collector.rows(samples)]


def meanings(collector: PrometheusCollector, text: str) -> dict[str, Column]:
    return dict(collector.columns([(0.0, 0.0, {"metrics": text})]))


def test_a_counter_is_a_rate_and_a_gauge_is_as_it_is():
    text = "# TYPE jobs counter\njobs {}\n# TYPE heat gauge\nheat {}\n"
    assert table(made("jobs", "heat"), text.format(4, 40), text.format(10, 41.5)) == [
        {"jobs": 3.0, "heat": 41.5}
    ]


def test_without_a_type_the_name_decides():
    assert table(made("x_total", "x"), "x_total 1\nx 1\n", "x_total 3\nx 3\n") == [{"x_total": 1.0, "x": 3.0}]


def test_of_a_histogram_there_are_the_sum_and_the_count():
    text = (
        "# TYPE took_seconds histogram\n"
        'took_seconds_bucket{{le="0.1"}} {0}\ntook_seconds_bucket{{le="+Inf"}} {0}\n'
        "took_seconds_sum {1}\ntook_seconds_count {0}\n"
    )
    rows = table(made("took_seconds"), text.format(2, 0.5), text.format(6, 1.5))
    assert rows == [{"took_seconds_sum": 0.5, "took_seconds_count": 2.0}]
    only = table(made("took_seconds_sum"), text.format(2, 0.5), text.format(6, 1.5))
    assert only == [{"took_seconds_sum": 0.5}]


def test_a_gauge_does_not_bring_what_is_named_alike():
    text = "# TYPE queue gauge\nqueue 1\nqueue_count 2\nqueue_total 3\nqueues 4\n"
    assert table(made("queue"), text, text) == [{"queue": 1.0}]


def test_labels_follow_the_name_and_escapes_are_undone():
    text = 'x{a="1",path="C:\\\\DIR\\\\",say="a \\"word\\"\\nand {more}, too",} 5 1395066363000\n'
    assert table(made("x"), text, text) == [{'x:a=1,path=C:\\DIR\\,say=a "word" and {more}, too': 5.0}]


def test_a_colon_in_a_name_is_no_label():
    assert table(made("job:rate"), "job:rate 1\n", 'job:rate{a="b"} 2\n') == [{"job_rate:a=b": 2.0}]


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf", "1e999", "0x1p3", "1_0", "one", "", "٣"])
def test_what_is_no_finite_number_is_left_out(value: str):
    assert table(made("x", "y"), f"x {value}\ny 1\n", f"x {value}\ny 1\n") == [{"y": 1.0}]


@pytest.mark.parametrize(
    "line",
    [
        "x",
        "x{",
        'x{a="b" 1',
        'x{a="b}" 1',
        "x 1 2 3",
        "x{a=b} 1",
        'x{a="b"} 1 1.5',
        "-x 1",
        "x{} {} 1",
        'x{a="b"}c 1',
    ],
)
def test_a_line_of_another_form_is_left_out(line: str):
    assert table(made("x"), f"{line}\nx 7\n", f"{line}\nx 7\n") == [{"x": 7.0}]


def test_a_line_that_is_cut_off_is_left_out():
    assert table(made("x"), "x 1\n", "x 17") == [{}]


def test_a_counter_that_went_back_leaves_a_gap():
    assert table(made("x_total"), "x_total 5\n", "x_total 1\n", "x_total 3\n") == [{}, {"x_total": 1.0}]


def test_more_series_than_a_table_can_hold_are_left_out():
    text = "".join(f'x{{n="{n}"}} {n}\n' for n in range(5000))
    (row,) = table(made("x"), text, text)
    assert len(row) == 500
    assert row["x:n=499"] == 499.0


def test_long_text_is_cut():
    text = 'x{n="' + "a" * 500 + '"} 1\n' + "# filling\n" * (1 << 17) + "y 1\n"
    (row,) = table(made("x", "y"), text, text)
    assert [len(name) for name in row] == [202]


def test_what_the_service_says_first_of_a_family_stands():
    first, second = "# TYPE x counter\nx 1\n", "# TYPE x gauge\nx 5\n"
    assert table(made("x"), first, second) == [{"x": 2.0}]
    samples = [(0.0, 0.0, {"metrics": first}), (1.0, 1.0, {"metrics": second})]
    assert made("x").columns(samples)["x"].kind == "rate"


def test_units_and_words_are_the_services():
    text = (
        "# HELP sent_bytes_total Bytes\\nsent\n# TYPE sent_bytes_total counter\nsent_bytes_total 1\n"
        "busy_seconds_total 1\nfree_bytes 1\nfill_ratio 1\nheads 1\n"
    )
    names = ("sent_bytes_total", "busy_seconds_total", "free_bytes", "fill_ratio", "heads")
    columns = meanings(made(*names), text)
    assert columns["sent_bytes_total"] == Column("B/s", "Bytes sent", "rate")
    assert {name: (one.unit, one.kind) for name, one in columns.items()} == {
        "sent_bytes_total": ("B/s", "rate"),
        "busy_seconds_total": ("%", "rate"),
        "free_bytes": ("B", "gauge"),
        "fill_ratio": ("%", "gauge"),
        "heads": ("1", "gauge"),
    }
    assert set(made(*names).columns()) == set(names)


NAMES = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]{0,20}", fullmatch=True).filter(lambda name: name not in CLOCKS)
VALUES = st.floats(allow_nan=False, allow_infinity=False)


def escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


@given(NAMES, st.dictionaries(NAMES, st.text(max_size=20), max_size=5), VALUES)
def test_whatever_a_label_holds_the_value_is_read(name: str, labels: dict[str, str], value: float):
    told = ",".join(f'{key}="{escaped(text)}"' for key, text in labels.items())
    text = f"# TYPE {name} gauge\n{name}{{{told}}} {value!r}\n"
    (row,) = table(made(name), text, text)
    assert list(row.values()) == [value]


@given(st.text(), st.text())
def test_no_text_is_too_odd(one: str, two: str):
    collector = made("x", "x_total")
    rows = table(collector, f"x 1\n{one}\n", f"{two}\nx 2\n")
    assert all(math.isfinite(value) for row in rows for value in row.values())


@given(st.data())
def test_no_damage_to_a_real_answer_is_too_odd(data: st.DataObject):
    samples = [json.loads(line)["raw"]["metrics"] for line in RECORDING.read_text().splitlines()]
    words = samples[1].split(" ")
    odd = st.sampled_from(["{", '"', "}", "\\", "\n", "\0", "# TYPE", "9" * 400, "-1", "\r"])
    words[data.draw(st.integers(0, len(words) - 1))] = data.draw(odd)
    rows = table(made("node_cpu_seconds_total", "node_load1"), samples[0], " ".join(words), samples[2])
    assert all(math.isfinite(value) for row in rows for value in row.values())


@pytest.mark.parametrize(
    "wrong",
    [
        {"metrics": ()},
        {"metrics": ("a b",)},
        {"metrics": ("t",)},
        {"path": "metrics"},
        {"path": "/a b"},
        {"port": 0},
        {"port": 70000},
        {"port": "80/x"},
    ],
)
def test_options_that_cannot_be_asked_for_are_refused(wrong: dict[str, Any]):
    with pytest.raises(ValidationError):
        PrometheusOptions(**{"metrics": ("x",), **wrong})


@pytest.mark.parametrize(
    ("endpoint", "options", "url"),
    [
        (Endpoint("10.0.0.1", 80), {}, "http://10.0.0.1:80/metrics"),
        (Endpoint("fd00::1", 80), {"port": 9100, "path": "/m?a=1"}, "http://[fd00::1]:9100/m?a=1"),
        (Endpoint("h", 80, {"stats_port": "81"}), {"port": "stats"}, "http://h:81/metrics"),
        (Endpoint("h", 80, authority="PEM"), {}, "https://h:80/metrics"),
    ],
)
def test_where_it_asks_is_told_by_the_service(endpoint: Endpoint, options: dict[str, Any], url: str):
    assert made("x", **options).commands(endpoint)["metrics"].argv[-1] == url


def test_a_password_is_in_no_command_line():
    (command,) = made("x").commands(Endpoint("h", 80, password="hush")).values()
    assert "hush" not in " ".join(command.argv)
    assert "hush" not in repr(command)


class Exposed(http.server.BaseHTTPRequestHandler):
    """Tells whoever logs in how it was asked."""

    def do_GET(self) -> None:
        if self.headers["Authorization"] != self.server.wanted:  # type: ignore[attr-defined]
            self.send_error(401)
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f'x{{path="{self.path}"}} 42\n'.encode())

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextlib.contextmanager
def served(wanted: str | None, context: ssl.SSLContext | None = None) -> Iterator[int]:
    server = http.server.ThreadingHTTPServer((HOST, 0), Exposed)
    server.wanted = wanted  # type: ignore[attr-defined]
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def taken(collector: PrometheusCollector, endpoint: Endpoint, log: Path) -> dict[str, str]:
    async def take() -> dict[str, str]:
        async with LocalHost.open(Token.of("test"), log) as host:
            return dict(await CollectorSource(collector, host, endpoint).take())

    return asyncio.run(take())


@needs_curl
@pytest.mark.parametrize(
    ("facts", "password", "wanted"),
    [
        ({}, None, None),
        ({}, 'to"k\\en', 'Bearer to"k\\en'),
        ({"user": "me"}, "pass:word", "Basic bWU6cGFzczp3b3Jk"),
    ],
)
def test_it_logs_in_as_the_service_wants(
    facts: dict[str, str], password: str | None, wanted: str | None, tmp_path
):
    with served(wanted) as port:
        raw = taken(made("x", path="/m?a=1"), Endpoint(HOST, port, facts, password), tmp_path / "log")
        assert raw == {"metrics": 'x{path="/m?a=1"} 42\n'}
        if wanted:
            assert taken(made("x"), Endpoint(HOST, port, facts, "wrong"), tmp_path / "log") == {}


@needs_curl
def test_it_trusts_the_authority_of_the_service_and_nobody_else(tmp_path: Path):
    authority, other = Authority(), Authority()
    (tmp_path / "identity.pem").write_text(authority.issue_identity(HOST).pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "identity.pem")
    with served(None, context) as port:
        mine = Endpoint(HOST, port, authority=authority.certificate)
        assert taken(made("x"), mine, tmp_path / "log") == {"metrics": 'x{path="/metrics"} 42\n'}
        assert taken(made("x"), Endpoint(HOST, port, authority=other.certificate), tmp_path / "log") == {}
        assert taken(made("x"), Endpoint(HOST, port), tmp_path / "log") == {}


@needs_curl
def test_a_server_that_is_not_there_reads_as_nothing(tmp_path: Path):
    assert taken(made("x"), Endpoint(HOST, free_port()), tmp_path / "log") == {}


@needs_curl
def test_a_real_exporter_is_read(tmp_path: Path):
    if not shutil.which(EXPORTER):
        pytest.skip(f"{EXPORTER} is not installed")
    port = free_port()
    argv = [EXPORTER, f"--web.listen-address={HOST}:{port}"]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as exporter:
        try:
            listening("tcp", port)
            collector = made("node_cpu_seconds_total", "node_boot_time_seconds", "process_open_fds")
            raws = [taken(collector, Endpoint(HOST, port), tmp_path / "log") for _ in range(2)]
        finally:
            exporter.terminate()
    (row,) = table(collector, *(raw["metrics"] for raw in raws))
    assert row["node_boot_time_seconds"] <= time.time()
    assert row["process_open_fds"] >= 1
    assert row["node_cpu_seconds_total:cpu=0,mode=user"] >= 0
