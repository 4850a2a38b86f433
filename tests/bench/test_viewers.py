"""Viewers of a stream, at a real server."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from pathlib import Path

import pytest
from bench.serving import Server, serving
from bench.setting import Setting

from bench import viewers


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    setting = Setting(tmp_path, quick=True)
    with serving(setting, setting.folder("store")) as started:
        yield started


def test_each_viewer_notes_how_late_each_event_came(server: Server) -> None:
    seen = viewers.follow(server, "/bare/events", 3, repeat(None, 10))
    assert len(seen.delays) >= 3 * 10 / 2
    assert all(late >= 0 for late in seen.delays)
    assert seen.cpu >= 0


def test_events_that_do_not_come_are_told(server: Server) -> None:
    with pytest.raises(viewers.NotMeasured, match="0 of 20 events came"):
        viewers.follow(server, "/no-stream", 2, repeat(None, 10))


def test_stamps_of_both_streams() -> None:
    assert viewers._STAMP.findall(b"data: 12.5\n") == [b"12.5"]
    page = b'data: {"notes":"<p>stamp 12.500000.</p><p>stamp 11.500000.</p>"}\n'
    assert viewers._STAMP.findall(page)[0] == b"12.500000"
    assert viewers._STAMP.findall(b'data: {"state":"3.5 s"}\n') == []
