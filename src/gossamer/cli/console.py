"""Tables, bars and coloured lines, as safe as what `terminal` says."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from gossamer.cli.terminal import safe


class SafeConsole(Console):
    """A console that styles as it likes, and shows nobody else's text but in letters."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else safe(text), style, control)

    def render_str(self, text: str, **how: Any) -> Text:
        """Before it is measured, so that it is given its room."""
        return super().render_str(safe(text), **how)
