"""gossamer subscriptions: which durable subscriptions a node keeps, how far each has come, and an end to them."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import click
import msgspec
from rich.markup import escape
from rich.table import Table

from gossamer.cli.attaching import Attachment, attaching, attachment
from gossamer.cli.console import SafeConsole
from gossamer.cli.subscribe import HINT, as_name
from gossamer.cli.terminal import say, say_json
from gossamer.core.errors import Misuse, TransportDown
from gossamer.live.clients.client import Client
from gossamer.live.reading.listing import SubscriptionInfo

COLUMNS = ("name", "owner", "topic", "filter", "position", "behind", "readers", "since")


@click.command("subscriptions", epilog="Example: gossamer subscriptions show billing --json")
@click.argument("act", type=click.Choice(["list", "show", "delete"]), default="list")
@click.argument("reader_name", metavar="[NAME]", required=False)
@attaching
@click.option("--owner", default="", help="Whose, where several have one of that name: see the list.")
@click.option("--json", "as_json", is_flag=True, help="As JSON: a list, or one object to `show`.")
def command(
    act: Literal["list", "show", "delete"],
    reader_name: str | None,
    path: Path | None,
    node: str | None,
    keys: Path | None,
    network: str | None,
    owner: str,
    as_json: bool,
) -> None:
    """List the durable subscriptions of a node, show one, or delete it.

    Those with the node's own keys see all of them (without keys: everybody on its machine), others their own.
    """
    if (reader_name is None) != (act == "list"):
        raise Misuse("`show` and `delete` take the NAME of a subscription, `list` takes none")
    whom = attachment(path, node, keys, network)
    if act == "delete":
        asyncio.run(asked(whom, lambda client: client.delete_subscription(reader_name or "", owner=owner)))
        return
    found = asyncio.run(asked(whom, lambda client: client.subscriptions()))
    if act == "show":
        found = [each for each in found if each.name == reader_name and owner in ("", each.owner)]
        if not found:
            raise Misuse(
                f"there is no subscription {reader_name!r} that you could see: `gossamer subscriptions` lists them"
            )
    if as_json:
        say_json(msgspec.to_builtins(found if act == "list" or len(found) > 1 else found[0]))
    elif act == "show":
        for each in found:
            show(each)
    elif found:
        show_table(found)
    else:
        say(f"no durable subscriptions at {whom.address}", err=True)


async def asked(whom: Attachment, question: Callable[[Client], Any]) -> Any:
    client = whom.client()
    try:
        async with client:
            return await question(client)
    except TransportDown as wrong:
        raise wrong if client.answered else TransportDown(f"{wrong}: {HINT}") from None


def show(info: SubscriptionInfo) -> None:
    for name, value in cells(info).items():
        say(f"{name:16} {value}")
    say(f"{'last used':16} {day(info.used_us)}")
    say(f"{'order':16} {'per publisher and topic' if info.ordered else 'none'}")
    say(f"{'lost':16} {info.lost}")


def show_table(found: list[SubscriptionInfo]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in COLUMNS:
        table.add_column(
            name, no_wrap=name != "filter", min_width=len(name), justify="right" if name in NUMBERS else "left"
        )
    for info in found:
        table.add_row(*(escape(cell) for cell in cells(info).values()))
    SafeConsole().print(table)


NUMBERS = ("position", "behind", "readers")


def cells(info: SubscriptionInfo) -> dict[str, str]:
    told = msgspec.structs.asdict(info) | {"since": day(info.since_us) if info.since_us else "the beginning"}
    return {name: as_name(str(told[name])) for name in COLUMNS}


def day(at_us: int) -> str:
    return datetime.fromtimestamp(at_us / 1e6, UTC).strftime("%Y-%m-%d %H:%M UTC")
