"""docs/reference/plugins.md: its experiment is sound where the files that it names are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from steelyard.spec.load import load
from steelyard.testing import contract

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "reference" / "plugins.md").read_text()
KV = ROOT / "examples" / "plugin" / "src" / "steelyard_kv"
FILES = {"my_server.py": "kv_server.py", "my_client.py": "kv_load.py", "my_event.py": "stutter.py"}


@pytest.fixture
def folder(tmp_path):
    """The plug-ins of the example package under the names of the page."""
    (tmp_path / "programs").symlink_to(KV / "programs")
    for name, source in FILES.items():
        text = (KV / source).read_text().replace('"kv_server"', '"my_server"')
        (tmp_path / name).write_text(text)
    return tmp_path


def test_its_experiment_is_sound(folder):
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    (folder / "my-database.yaml").write_text(block)
    experiment, _ = load(folder / "my-database.yaml")
    assert [use.use for use in experiment.workload] == ["./my_client.py"]


def test_its_tests_are_python_with_suites_that_there_are(folder):
    blocks = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        compile(block, "docs/reference/plugins.md", "exec")
    named = set(re.findall(r"`?(\w+Contract)\b", TEXT))
    assert set(contract.__all__) <= named, "each suite is told of"
