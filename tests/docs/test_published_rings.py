"""The published results on rings of Cassandra: a file each, a row in the README, and reference data."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from steelyard.analysis.comparison.published import load_published, published_ids
from steelyard.model.space import cells
from steelyard.spec.load import load
from steelyard.spec.metrics import declared_metrics

ROOT = Path(__file__).parents[2]
FOLDERS = [ROOT / "examples" / "published" / name for name in ("c4s-2018", "mikelangelo-2016")]
FILES = [path for folder in FOLDERS for path in sorted(folder.glob("*.yaml"))]
SHARED = ROOT.parent / "shared" / "published.csv"
SHARES = {
    "snapshot_share": ("snapshot_flush_time", "snapshot_freeze_time"),
    "ring_share": ("snapshot_describe_time",),
    "copy_share": ("snapshot_copy_time",),
}


def line_of(name):
    if not SHARED.exists():
        pytest.skip("the shared list of published results is not beside this clone")
    with SHARED.open(newline="") as file:
        return next(row["numbers_given"] for row in csv.DictReader(file) if row["id"] == name)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_all_are_there_and_listed(folder):
    tagged = {load(path)[0].tags["published"] for path in folder.glob("*.yaml")}
    pages = (folder / "README.md").read_text()
    listed = set(re.findall(rf"^\| ({folder.name}/[a-z]+-[\d.]+) ", pages, re.MULTILINE))
    shipped = {name for name in published_ids() if name.startswith(f"{folder.name}/")}
    assert tagged == listed == shipped
    assert all(f"({path.name})" in pages for path in folder.glob("*.yaml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_measures_what_its_result_is_compared_by(path):
    experiment, _ = load(path)
    result = load_published(str(experiment.tags["published"]))
    assert path.stem.startswith(result.id.split("/")[1])
    assert experiment.experiment == path.stem
    assert result.workload in {use.use for use in experiment.workload}
    known = {*declared_metrics(experiment, cells(experiment, seed=1))}
    known |= {f"${{{name}}}" for name in experiment.parameters}
    for shape in result.shapes:
        if "${rate}" in shape.divisor and not any(use.options.get("rate") for use in experiment.workload):
            continue  # as fast as it goes; the other file of the figure asks for a rate
        assert {*shape.dividend, *shape.divisor} <= known
        assert shape.metric is None or shape.metric in known
        assert shape.about in {"", *experiment.parameters}


def test_the_charts_of_growing_differ_in_their_rate_alone():
    loads = [load(FOLDERS[1] / f"figure-{number}.yaml")[0] for number in (23, 24, 25)]
    assert all(experiment.timeline == loads[0].timeline for experiment in loads)
    assert [entry.options["to"] for entry in loads[0].timeline] == [4, 5, 6]
    assert ["rate" in experiment.workload[1].options for experiment in loads] == [False, True, True]


def test_the_snapshots_are_those_of_the_shared_list():
    found = load_published("c4s-2018/table-6.1")
    told = re.findall(r"(\d+)n\.(\d+)GB=([\d.]+)s\(([\d.]+)%/([\d.]+)%/([\d.]+)%\)", line_of(found.id))
    theirs = {tuple(map(float, one)) for one in told}
    assert len(theirs) == 12
    ours = {(*map(float, row[:3]), *(round(100 * share, 2) for share in row[3:])) for row in found.rows}
    assert ours == theirs


def test_the_shares_of_a_snapshot_agree_with_its_table():
    """A digit that was misread would show here: parts make a whole, and the shapes are the table's ends."""
    found = load_published("c4s-2018/table-6.1")
    for row in found.rows:
        assert sum(row[3:]) == pytest.approx(1, abs=0.0003)
    by_steps = {shape.dividend: shape.ranges for shape in found.shapes if shape.kind == "share"}
    for column, steps in SHARES.items():
        place = found.columns.index(column)
        for nodes in (2, 4, 8, 16):
            shares = [row[place] for row in found.rows if row[0] == nodes]
            assert by_steps[steps][str(nodes)] == (min(shares), max(shares))
    seconds = {(row[0], row[1]): row[2] for row in found.rows}
    kept = [seconds[2, size] / time * 2 / nodes for (nodes, size), time in seconds.items() if nodes > 2]
    (efficiency,) = [shape for shape in found.shapes if shape.kind == "efficiency"]
    assert (efficiency.low, efficiency.high) == pytest.approx((min(kept), max(kept)), abs=0.0001)


def test_the_loading_times_are_those_of_the_shared_list():
    found = load_published("c4s-2018/table-6.2")
    told = re.findall(r"(\d+)GB=([\d.]+)(?: \(default\))?/([\d.]+)", line_of(found.id))
    assert {tuple(map(float, one)) for one in told} == {tuple(map(float, row)) for row in found.rows}
    kept = [slow / fast / 2 for _, slow, fast in found.rows]
    (efficiency,) = found.shapes
    assert (efficiency.low, efficiency.high) == pytest.approx((min(kept), max(kept)), abs=0.0001)


def test_the_listing_and_the_speed_up_agree_with_themselves():
    listing, text = load_published("c4s-2018/listing-6.1"), load_published("c4s-2018/text-6.3")
    told = dict(listing.rows)
    reached = told["rows"] / told["seconds"]
    assert reached == pytest.approx(told["rate reached, rows/s"], rel=0.001)
    assert listing.shapes[0].low == pytest.approx(reached / told["rate told, rows/s"], abs=0.0001)
    copied, kept, back, _ = (seconds for _, seconds in text.rows)
    assert text.shapes[0].low == pytest.approx(copied / (kept + back), abs=0.01)
    assert copied == pytest.approx(60 * load_published("c4s-2018/table-6.2").rows[-1][-1])
