"""gossamer experiments: what is shipped."""

from typing import Any

import click
from rich.table import Table

from gossamer.cli.console import SafeConsole
from gossamer.cli.terminal import say_json
from gossamer.lab.grid import points
from gossamer.lab.spec import read, shipped


@click.command("experiments", epilog="Example: gossamer experiments")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(as_json: bool) -> None:
    """The experiments that come with the package, by name."""
    rows: list[dict[str, Any]] = []
    for name in shipped():
        made = points(*read(name))
        head = made[0].spec.experiment
        rows.append(
            {"name": name, "protocol": head.protocol, "points": len(made), "runs": head.runs, "about": head.about}
        )
    if as_json:
        say_json(rows)
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("name", no_wrap=True)
    table.add_column("trials", justify="right")
    table.add_column("about")
    for row in rows:
        table.add_row(row["name"], f"{row['points'] * row['runs']:,}", row["about"])
    SafeConsole().print(table)
