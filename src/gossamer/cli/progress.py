"""How far a long piece of work is: a bar on a terminal, a line now and then anywhere else."""

import time

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from gossamer.cli.console import SafeConsole

LINE_S = 30.0
"Between two lines."


class Telling:
    """A bar for as long as a block of `bar`, or lines."""

    def __init__(self, console: Console, what: str, total: int, counted: bool) -> None:
        columns = [TextColumn("{task.description}"), BarColumn()]
        columns += [MofNCompleteColumn(), TimeRemainingColumn()] if counted else [TimeElapsedColumn()]
        self.bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self.lines = SafeConsole(stderr=True) if not console.is_terminal else None
        self.what, self.total, self.told_at = what, total, time.monotonic()
        self.task = self.bar.add_task(what, total=total)

    def say(self, text: str) -> None:
        """A line of its own, wherever the others go."""
        (self.lines or self.bar.console).print(text, markup=False, highlight=False)

    def tell(self, done: int, what: str | None = None) -> None:
        self.bar.update(self.task, completed=done, description=what or self.what)
        if self.lines is not None and time.monotonic() - self.told_at >= LINE_S:
            self.told_at = time.monotonic()
            self.lines.print(f"{what or self.what}: {done:,} of {self.total:,}", markup=False, highlight=False)
