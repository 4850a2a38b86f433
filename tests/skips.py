"""Fail on a skipped test whose reason is not listed, with an expiry still ahead, in skips.toml."""

from __future__ import annotations

import datetime
import re
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree


def skipped(results: Path) -> list[tuple[str, str]]:
    """Name and reason of every skipped test in a JUnit file."""
    cases = ElementTree.parse(results).iter("testcase")
    found = ((f"{case.get('classname')}.{case.get('name')}", case.find("skipped")) for case in cases)
    return [(name, skip.get("message", "")) for name, skip in found if skip is not None]


def allowed(reason: str, listed: list[dict[str, object]]) -> bool:
    """Whether an entry that has not expired matches the reason."""
    today = datetime.datetime.now(tz=datetime.UTC).date()
    return any(re.search(str(entry["reason"]), reason) and entry["expires"] >= today for entry in listed)


def main(results: Path) -> int:
    """Report every skip that is not allowed; the exit code."""
    listed = tomllib.loads(Path(__file__).with_name("skips.toml").read_text()).get("skip", [])
    wrong = [(name, reason) for name, reason in skipped(results) if not allowed(reason, listed)]
    for name, reason in wrong:
        print(f"skipped without leave: {name}: {reason}")
    if wrong:
        print("list the reason with an expiry in tests/skips.toml, or make the test run")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
