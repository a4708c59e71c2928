"""gossamer experiments: what is shipped."""

import click
import msgspec
from rich.console import Console
from rich.table import Table

from gossamer.lab.grid import points
from gossamer.lab.spec import read, shipped


@click.command("experiments", epilog="Example: gossamer experiments")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(as_json: bool) -> None:
    """The experiments that come with the package, by name."""
    rows = []
    for name in shipped():
        made = points(*read(name))
        head = made[0].spec.experiment
        rows.append({"name": name, "protocol": head.protocol, "points": len(made), "runs": head.runs, "about": head.about})
    if as_json:
        click.echo(msgspec.json.encode(rows).decode())
        return
    table = Table()
    for column in ("name", "protocol", "points", "runs", "about"):
        table.add_column(column, justify="right" if column in ("points", "runs") else "left")
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    Console().print(table)
