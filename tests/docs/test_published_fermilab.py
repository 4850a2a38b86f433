"""The nine published results of Fermilab's report: a file each, a row in the README, and reference data."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from steelyard.analysis.comparison.published import load_published, published_ids
from steelyard.spec.load import load, load_source
from steelyard.spec.yaml.source import read

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "published" / "fermilab-2015"
FILES = sorted(FOLDER.glob("*.yaml"))


def test_there_are_nine_and_all_are_listed():
    tagged = {load(path)[0].tags["published"] for path in FILES}
    listed = set(
        re.findall(r"^\| (fermilab-2015/[a-z]+-\d) ", (FOLDER / "README.md").read_text(), re.MULTILINE)
    )
    shipped = {name for name in published_ids() if name.startswith("fermilab-2015/")}
    assert len(FILES) == 9
    assert tagged == listed == shipped


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_measures_what_its_result_is_compared_by(path):
    experiment, _ = load(path)
    result = load_published(str(experiment.tags["published"]))
    assert experiment.experiment == path.stem
    assert result.workload in {use.use for use in experiment.workload}
    for shape in result.shapes:
        match shape.kind:
            case "knee":
                assert shape.about in experiment.parameters
            case "efficiency_loss":
                assert "copies" in experiment.parameters
            case "headroom":
                assert any(">=" in entry.that for entry in experiment.require)
            case "failure_rate":
                assert "failure_rate" in {entry.name for entry in experiment.derive}
            case "efficiency":
                assert "speedup" in {entry.name for entry in experiment.derive}


@pytest.mark.parametrize("name", ["gensim", "hs", "streams", "concurrency", "throughput"])
def test_the_small_ones_are_there(name):
    experiment, _ = load(ROOT / "examples" / "fermilab" / f"{name}.yaml")
    assert experiment.experiment == name


def test_the_experiment_in_the_page_on_derived_results_is_sound():
    page = (ROOT / "docs" / "reference" / "derived.md").read_text()
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    load_source(read(block, "block"))
