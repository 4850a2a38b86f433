"""Every page: it is there, for people and for programs; what strangers wrote is shown and does nothing."""

from __future__ import annotations

import json
import os
import re
from html.parser import HTMLParser
from urllib.parse import urljoin

import pytest

from steelyard.web.pages import machines

HOSTILE = "</script><img src=x onerror=window.pwned=1>\"'&\x1b[31m\x00\u202e"


@pytest.fixture
def record(build, plans):
    return build(**plans.watched())


@pytest.fixture(autouse=True)
def machine(monkeypatch):
    """What `steelyard doctor` would say; to look costs seconds."""
    note = {"severity": "warning", "what": f"busy {HOSTILE}", "why": "others", "what_to_do": "`wait`"}
    tried = [
        {"name": "podman", "runs": False, "seconds": 0.0, "reason": f"no {HOSTILE}"},
        {"name": "bubblewrap", "runs": True, "seconds": 0.012, "reason": ""},
    ]
    looked = {"advice": [note], "environments": tried}
    monkeypatch.setattr("steelyard.web.pages.machines.inspect", lambda scratch: looked)


@pytest.fixture
def client(client_of, record):
    folder = record.folder.phase(1, "client-0", "run")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stdout").write_text(f"hello {HOSTILE}\n")
    return client_of(record)


def urls(run: str) -> list[str]:
    run_pages = ["", "/trials", "/trials/1", "/trials/1/telemetry", "/file", "/environment", "/journal"]
    return [
        "/",
        *(f"/runs/{run}{page}" for page in run_pages),
        f"/compare?run={run}",
        "/machines",
        "/catalog/fio",
    ]


def test_every_page_is_there_for_people_and_for_programs(client, record):
    for url in urls(record.id):
        answer = client.ask(url)
        assert answer.status == 200, (url, answer.text)
        assert answer.headers["content-type"].startswith("text/html")
        plain = client.ask(f"{url}{'&' if '?' in url else '?'}as=json")
        assert plain.status == 200, (url, plain.text)
        assert isinstance(json.loads(plain.text), dict)
        assert client.ask(url, accept="application/json").text == plain.text


class Links(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.posted: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        kept = self.posted if ("method", "post") in attrs else self.found
        kept += [value for name, value in attrs if name in ("href", "src", "action") and value]
        assert not [name for name, _ in attrs if name == "style" or name.startswith("on")], (tag, attrs)


def test_every_link_leads_somewhere_under_any_prefix(client, record):
    for url in urls(record.id):
        path = url.partition("?")[0]
        page = Links(client.ask(url).text)
        for link in page.posted:
            assert client.ask(urljoin(path, link)).status == 405, (url, link)
        for link in page.found:
            assert not re.match(r"/|[a-z]+:", link), (url, link)
            if link.startswith("#"):
                continue
            assert client.ask(urljoin(path, link)).status == 200, (url, link)


def test_what_a_run_came_to_leads_its_page(client, record):
    text = client.ask(f"/runs/{record.id}").text
    assert "throughput" in text
    assert "1 failed" in text
    facts = json.loads(client.ask(f"/runs/{record.id}?as=json").text)
    assert facts["state"] == "complete"
    assert [cell["counted"] for cell in facts["cells"]] == [6, 5, 5]


def test_a_report_runs_its_scripts_as_a_strangers(client, record):
    answer = client.ask(f"/runs/{record.id}/report")
    assert answer.status == 200
    assert "allow-same-origin" not in answer.headers["content-security-policy"]
    assert answer.headers["content-security-policy"].startswith("sandbox allow-scripts")


def test_who_is_not_there_is_said_with_what_is(client, record):
    for url in ("/runs/nope", "/nope", f"/runs/{record.id}/trials/99", "/catalog/nope", "/compare?run=nope"):
        answer = client.ask(url)
        assert answer.status == 404, url
        assert "Traceback" not in answer.text
        assert json.loads(client.ask(url, accept="application/json").text)["error"]


def test_a_file_of_a_trial_is_text_to_be_saved(client, record):
    answer = client.ask(f"/runs/{record.id}/trials/1/files/client-0/run/stdout")
    assert answer.status == 200
    assert answer.text.startswith("hello </script>")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="stdout.txt"'
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "name",
    [
        "../trial.json",
        "../../../../../../etc/passwd",
        "/etc/passwd",
        "..%2f..%2f..%2fdesign.json",
        "client-0/run/../run/stdout",
        "client-0/run/link",
        "client-0/run/fifo",
        "linked/run/secret",
    ],
)
def test_no_other_file_is_sent(client, record, tmp_path, name):
    outside = tmp_path / "outside" / "run"
    outside.mkdir(parents=True)
    (outside / "secret").write_text("secret")
    folder = record.folder.phase(1, "client-0", "run")
    (folder / "link").symlink_to(outside / "secret")
    os.mkfifo(folder / "fifo")
    (record.folder.trial(1) / "linked").symlink_to(outside.parent)
    answer = client.ask(f"/runs/{record.id}/trials/1/files/{name}")
    assert answer.status == 404
    assert "secret" not in answer.text.replace("run/secret", "")


@pytest.mark.parametrize("name", ["../../etc", "..", "%2e%2e", "a/../../b"])
def test_no_path_is_a_run(client, name):
    assert client.ask(f"/runs/{name}").status == 404


def test_what_strangers_wrote_does_nothing(client_of, build, plans):
    parameters = {f"p{HOSTILE}": [HOSTILE, "b"]}
    text = json.dumps(
        {"experiment": "x", "parameters": parameters, "workload": {"use": "command", "run": ["true"]}}
    )
    failures = {}
    record = build(
        title=HOSTILE, about=HOSTILE, parameters=parameters, text=text, warnings=[HOSTILE], failures=failures
    )
    client = client_of(record)
    for url in urls(record.id):
        answer = client.ask(url)
        assert "<img" not in answer.text, url
        assert "\x1b" not in answer.text
        assert "\u202e" not in answer.text
        Links(answer.text)
        assert "\x1b" not in client.ask(url, accept="application/json").text


def test_what_takes_long_waits_while_a_run_measures(client, record, monkeypatch):
    said = "run 20261125-1 of ada has been measuring on this machine for 3 s"
    for module in ("quiet", "pages.machines"):
        monkeypatch.setattr(f"steelyard.web.{module}.find_measuring_run", lambda: said)
    page = client.ask(f"/runs/{record.id}").text
    assert said in page
    assert "?now=1" in page
    refused = client.ask(f"/runs/{record.id}/report")
    assert refused.status == 400
    assert said in refused.text
    assert client.ask(f"/runs/{record.id}/report?now=1").status == 200
    assert json.loads(client.ask("/machines?as=json").text)["advice"] is None
    both = client.ask(f"/compare?run={record.id}&run={record.id}")
    assert both.status == 200
    assert json.loads(client.ask("/?as=json").text)["total"] == 1, "a glance disturbs nobody"


def test_the_machine_is_looked_at_for_real(tmp_path, monkeypatch):
    monkeypatch.undo()
    looked = machines.inspect(tmp_path)
    assert all({"severity", "what", "why", "what_to_do"} <= note.keys() for note in looked["advice"])
    assert all({"name", "runs", "seconds", "reason"} == one.keys() for one in looked["environments"])


def test_a_trial_over_time_shows_the_workload_and_its_hosts(client_of, build, plans):
    rows = [{"t": 100.0 + n, "m": float(n), "cpu_user": 0.5, "memory_used": 2.0**30} for n in range(30)]
    plan = plans.streams(parameters={"streams": [1]}, telemetry=lambda number: rows if number == 1 else [])
    record = build(**plan)
    samples = record.folder.phase(1, "client-0", "run") / "samples.ndjson"
    samples.parent.mkdir(parents=True, exist_ok=True)
    lines = ({"at": 100.0 + n, "length": 1.0, "values": {"throughput": 5.0 + n}} for n in range(30))
    samples.write_text("".join(json.dumps(line) + "\n" for line in lines))
    client = client_of(record)
    text = client.ask(f"/runs/{record.id}/trials/1/telemetry").text
    assert "throughput, copy 1" in text
    assert "CPU, programs" in text
    assert text.count("<polyline") == 3
    series = json.loads(client.ask(f"/runs/{record.id}/trials/1/telemetry?as=json").text)["series"]
    assert len(series[0]["values"]) == 30
    (host,) = record.telemetry(1)
    table = client.ask(f"/runs/{record.id}/trials/1/files/telemetry/{host}.parquet")
    assert table.headers["content-type"] == "application/octet-stream"
