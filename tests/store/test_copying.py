from __future__ import annotations

import os

from steelyard.store.copying import copy_record


def test_what_lasts_is_copied_and_nothing_through_a_link(build, tmp_path):
    run = build().folder
    (run.path / "control.json").write_text("{}")
    (run.path / "derived").mkdir(exist_ok=True)
    (run.path / "link").symlink_to("/etc/passwd")
    os.mkfifo(run.path / "fifo")
    copy_record(run.path, tmp_path / "copy")
    names = {path.name for path in (tmp_path / "copy").iterdir()}
    assert names == {"experiment.yaml", "design.json", "environment.json", "journal.ndjson", "trials"}
    copy_record(run.path, tmp_path / "light", light=True)
    assert not (tmp_path / "light" / "trials").exists()
