"""The page about security: its table is what the services declare. Run as a program, this file writes it."""

from __future__ import annotations

from pathlib import Path

from steelyard.plugins import find, names
from steelyard.services.base import Service
from steelyard.services.kit.access import Listener

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "security.md"
BEGIN, END = "<!-- services: made by tests/docs/test_security.py -->\n", "<!-- end of services -->"
HEAD = "| service | listens for | at | asks for | encrypted |\n|---|---|---|---|---|\n"


def row(service: str, listener: Listener) -> str:
    asks = listener.authentication or "**nothing**: it needs `open: true`"
    cells = (f"`{service}`", listener.purpose, listener.binding, asks, listener.encrypted)
    return f"| {' | '.join(cells)} |\n"


def table() -> str:
    """All ports of all services, as they declare them."""
    kinds = {name: find("services", name, Service) for name in sorted(names("services"))}  # type: ignore[type-abstract]
    return HEAD + "".join(row(name, each) for name, kind in kinds.items() for each in kind.access)


def written(page: str) -> str:
    """The page with the table as it is to be."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


def test_the_table_is_what_the_services_declare() -> None:
    page = PAGE.read_text()
    assert page == written(page), (
        f"run `python {Path(__file__).name}` in tests/docs, with this project's Python"
    )


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
