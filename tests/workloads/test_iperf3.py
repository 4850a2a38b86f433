"""`use: iperf3`: options, the command line, and what the recorded JSON does not show."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest
from pydantic import ValidationError

from steelyard.errors import NothingMeasured, ParseFailure
from steelyard.model.command import Endpoint, Exit, Output, Place
from steelyard.workloads.iperf3 import Iperf3, Iperf3Options

EXIT = Exit(0, None, 1.0, 0.1, 0.1, 0, 0.0)
TO = Endpoint("10.0.0.1", 5201)
PLACE = Place(PurePosixPath("/s"), PurePosixPath("/r"), 2, 2**30, 1, address="10.0.0.9", to=TO)
RECORDED = Path(__file__).parents[1] / "data" / "contract" / "iperf3"


def made(**options) -> Iperf3:
    return Iperf3(Iperf3Options.model_validate(options))


def argv(place: Place = PLACE, **options) -> str:
    return " ".join(made(**options).command(place).argv)


def read(text: str, **options):
    return made(**options).parse("run", Output(EXIT, text, ""))


def test_all_sizes_and_ways_reach_the_command_line():
    found = argv(
        duration="7s",
        omit="2s",
        message="16KiB",
        buffer="32KiB",
        rate="8 Mbit/s",
        streams=3,
        direction="both",
    )
    for words in (
        "--client 10.0.0.1 --port 5201",
        "--bind 10.0.0.9",
        "--time 7",
        "--omit 2",
        "--length 16384",
        "--window 32768",
        "--bitrate 8000000",
        "--parallel 3",
        "--bidir",
    ):
        assert words in found
    assert "--udp" not in found
    assert {"--udp", "--reverse"} <= set(argv(protocol="udp", direction="receive").split())
    assert "--bitrate 0" in argv(protocol="udp"), "iperf3's own default by UDP is 1 Mbit/s"


def test_each_copy_has_a_server_of_its_own_in_turn():
    to = replace(TO, facts={"servers": "10.0.0.1:1,10.0.0.2:1,10.0.0.1:2"})
    found = [argv(replace(PLACE, to=to, copy=copy)) for copy in range(4)]
    wanted = ["10.0.0.1 --port 1", "10.0.0.2 --port 1", "10.0.0.1 --port 2", "10.0.0.1 --port 1"]
    assert [words in line for words, line in zip(wanted, found, strict=True)] == [True] * 4
    named = [argv(replace(PLACE, to=None, copy=copy), server="far", servers=2, port=7) for copy in range(3)]
    assert [line.partition("--port ")[2][0] for line in named] == ["7", "8", "7"]


def test_without_a_server_it_is_a_failure_that_says_what_to_do():
    command = made().command(replace(PLACE, to=None))
    assert "name a service with 'to:'" in command.argv[-1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"duration": "500ms"}, "whole number of seconds"),
        ({"protocol": "udp", "message": "8B"}, "16 to 65507"),
        ({"protocol": "udp", "no_delay": True}, "apply only to tcp"),
        ({"server": "a b"}, "not a host name"),
        ({"congestion": "cubic; reboot"}, "match pattern"),
    ],
)
def test_what_cannot_be_is_refused(options, said):
    with pytest.raises(ValidationError, match=said):
        made(**options)


def test_the_reason_why_iperf3_gave_up_is_told():
    with pytest.raises(ParseFailure, match="the server is busy running a test"):
        read('{"start": {}, "end": {}, "error": "the server is busy running a test. try again later"}')


def test_the_reason_is_told_also_after_a_warning():
    text = (Path(__file__).parents[1] / "data" / "iperf3" / "in-gvisor.txt").read_text()
    assert text.startswith("WARNING:")
    with pytest.raises(ParseFailure, match="unable to receive results: Resource temporarily unavailable"):
        read(text, direction="receive")


def test_lost_datagrams_do_not_count_as_throughput():
    top = json.loads((RECORDED / "2" / "run" / "stdout").read_text())
    top["end"]["sum_received"] |= {"seconds": 2.0, "bytes": 1000, "packets": 50, "lost_packets": 30}
    values = read(json.dumps(top), protocol="udp").values
    assert (values["throughput"], values["loss"], values["datagrams"]) == (500, 0.6, 10)


def test_throughput_is_what_the_receiver_saw_in_both_directions():
    top = json.loads((RECORDED / "1" / "run" / "stdout").read_text())
    for name, size in (("sum_sent", 999), ("sum_received", 100), ("sum_received_bidir_reverse", 50)):
        top["end"][name] |= {"bytes": size, "seconds": 2.0}
    values = read(json.dumps(top), direction="both").values
    assert [values[n] for n in ("throughput", "sent_throughput", "received_throughput")] == [75, 50, 25]


@pytest.mark.parametrize("change", ["end", "sum_received"])
def test_a_document_that_lacks_something_is_no_reading(change):
    top = json.loads((RECORDED / "2" / "run" / "stdout").read_text())
    if change == "end":
        del top["end"]
    else:
        del top["end"][change]
    with pytest.raises(ParseFailure):
        read(json.dumps(top), protocol="udp")


@pytest.mark.parametrize(
    ("change", "said"), [({"packets": 0}, "no datagram was sent"), ({"seconds": 0}, "nothing was received")]
)
def test_a_stream_that_never_began_was_not_measured(change, said):
    top = json.loads((RECORDED / "2" / "run" / "stdout").read_text())
    top["end"]["sum_received"] |= change
    with pytest.raises(NothingMeasured, match=said):
        read(json.dumps(top), protocol="udp")


def test_what_was_granted_is_a_fact():
    facts = read((RECORDED / "0" / "run" / "stdout").read_text()).facts
    assert facts["sock_bufsize"] == 32768
    assert facts["sndbuf_actual"] == 65536
    assert facts["test_start"]["blksize"] == 16384


def test_throughput_over_time():
    text = (RECORDED / "0" / "run" / "stdout").read_text()
    total = read(text).values["throughput"]
    found = made().series("run", Output(replace(EXIT, started=1000.0), text, ""))
    assert found[0].at == pytest.approx(1000.0 + found[0].length, abs=0.01)
    assert sum(sample.values["throughput"] * sample.length for sample in found) == pytest.approx(
        total * sum(sample.length for sample in found), rel=0.2
    )
    with pytest.raises(ParseFailure):
        made().series("run", Output(EXIT, '{"intervals": [{"sum": {"seconds": -1}}]}', ""))
