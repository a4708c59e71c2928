"""Keys and grants, as people and machines read them."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from rich.markup import escape
from rich.table import Table

from gossamer.cli.console import SafeConsole
from gossamer.cli.terminal import say, say_json
from gossamer.core.ids import peer_of
from gossamer.live.keys.folder import KEY
from gossamer.live.keys.ledger import Issued
from gossamer.live.keys.network import Network


def row(issued: Issued, worth: str) -> dict[str, Any]:
    return {
        "node": issued.node,
        "state": worth,
        "peer": peer_of(issued.node),
        "fingerprint": issued.fingerprint.hex(),
        "publish": issued.publish,
        "subscribe": issued.subscribe,
        "not_before_s": issued.not_before_s,
        "not_after_s": issued.not_after_s,
        "owner": issued.owner,
        "address": issued.address,
        "client": issued.client,
    }


def tell_issued(of: Network, issued: Issued, as_json: bool) -> None:
    there = of.folder_of(issued.node)
    if as_json:
        say_json(row(issued, "good") | {"folder": str(there)})
        return
    may = [f"{act} {words(on)}" for act, on in (("publish", issued.publish), ("subscribe", issued.subscribe)) if on]
    lives = f" and lives at {issued.address}" if issued.address else ""
    until = f"until {day(issued.not_after_s)}"
    who = f"{issued.node}, a client," if issued.client else issued.node
    say(f"{who} may {' and '.join(may)}{lives} {until}; all it needs is in {there}")
    if not (there / KEY).exists():
        say(f"{KEY} is not there: put the other files beside it, wherever it is now.")


def show_facts(told: dict[str, Any]) -> None:
    for name, value in told.items():
        shown = day(value) if name in ("not_before_s", "not_after_s") else value
        say(f"{name.removesuffix('_s').replace('_', ' '):16} {words(shown)}")


def show_table(rows: Sequence[dict[str, Any]]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0))
    places = ["address"] if any(each["address"] for each in rows) else []
    for name in ("node", "state", "key", "publish", "subscribe", "until", "owner", *places):
        table.add_column(name, no_wrap=name in ("node", "state", "key", "until", "address"))
    for each in rows:
        key, until = each["fingerprint"][:16], day(each["not_after_s"])[:10]
        cells = (
            each["node"],
            each["state"],
            key,
            words(each["publish"]),
            words(each["subscribe"]),
            until,
            each["owner"],
            *(each[name] for name in places),
        )
        table.add_row(*map(escape, cells))
    SafeConsole().print(table)


def words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list | tuple) else str(value)


def day(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
