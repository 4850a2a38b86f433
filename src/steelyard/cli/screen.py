"""A terminal on which a bar moves while lines are printed above it; loaded only where somebody watches."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from steelyard.printable import make_printable


class Screen(Console):
    """rich's console on standard error, to which a text is a text: no markup, no link, no escape sequence."""

    def __init__(self) -> None:
        super().__init__(stderr=True, markup=False, emoji=False, highlight=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """As rich does, which moves the cursor by segments of their own."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=make_printable(segment.text))
