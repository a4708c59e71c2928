"""gossamer publish: hands events to the network, through a node or, without one, as a guest."""

import re
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import click
from msgspec import Struct

from gossamer.cli.attaching import Attachment, attaching, attachment, notice, spelled
from gossamer.cli.in_flight import publish_all
from gossamer.cli.numbers import Real
from gossamer.cli.stdin import lines
from gossamer.cli.terminal import say, say_json
from gossamer.core.errors import Misuse, TransportDown
from gossamer.core.events import Attribute
from gossamer.core.ids import EventId
from gossamer.core.topics import Topic
from gossamer.live.clients.arguments import publication
from gossamer.live.clients.client import Client
from gossamer.live.clients.guest import guest_config, wait_until_taken
from gossamer.live.config.config import Config
from gossamer.live.links.control import PATIENCE_MAX_S
from gossamer.live.node import Node
from gossamer.live.publishing.parcel import HandedOver
from gossamer.live.running.daemon import run

STDIN = "-"
"As a payload: what many commands call it."


@click.command("publish", epilog='Example: gossamer publish .soccer.italy "goal" --attribute minute=88')
@click.argument("where", metavar="TOPIC")
@click.argument("payload", required=False)
@attaching
@click.option("--file", type=click.Path(path_type=Path), help="The payload is what this file holds.")
@click.option(
    "--attribute", "attributes", multiple=True, metavar="NAME=VALUE", help="88, 0.5, true or text (repeatable)."
)
@click.option("--key", help="The same key on the same topic is the same event: publish again without fear of doubles.")
@click.option("--json", "as_json", is_flag=True, help="Print each event's id, as JSON.")
@click.option("--join", is_flag=True, help="Call no node of one's own: be a guest at once.")
@click.option("--seed", "seeds", multiple=True, metavar="HOST:PORT", help="Whose guest, if need be (repeatable).")
@click.option(
    "--timeout",
    type=Real(0, PATIENCE_MAX_S, min_open=True),
    default=10.0,
    show_default=True,
    help="Seconds to wait until members have the events, with --wait or as a guest.",
)
@click.option("--wait", is_flag=True, help="Wait until enough members have the events on disk, and say how many.")
def command(
    where: str,
    payload: str | None,
    path: Path | None,
    node: str | None,
    keys: Path | None,
    network: str | None,
    file: Path | None,
    attributes: tuple[str, ...],
    key: str | None,
    as_json: bool,
    join: bool,
    seeds: tuple[str, ...],
    timeout: float,
    wait: bool,
) -> None:
    """Publish PAYLOAD, a file, or (given neither, or - for PAYLOAD) each line of stdin as an event of its own.

    The node of this machine takes them: exit code 0 means that they are in its spool, and with --wait that three
    members, or all if there are fewer, have them on disk; 1 that they do not have them in time, and the node goes on
    offering them. If no node answers and there are seeds, in the settings or with --seed, the command finds members
    itself, as a guest, and always waits for them.
    """
    once = single(payload, file)
    checked = publication(where, once or b"", dict(map(attribute, attributes)), key)  # before anybody is called
    wish = Wish(checked.topic, checked.attributes, key)
    if key is not None and once is None:
        raise Misuse("--key names one event: give its payload, or --file")
    whom = attachment(path, node, keys, network)
    guest = guest_config(whom.config, whom.keys, whom.network, seeds)
    run(publish(whom, wish, once, guest, join, as_json, timeout, wait))


class Wish(Struct, frozen=True):
    """What every event of this call has in common."""

    topic: Topic
    attributes: dict[str, Attribute]
    key: str | None


async def publish(
    whom: Attachment,
    wish: Wish,
    once: bytes | None,
    guest: Config | None,
    join: bool,
    as_json: bool,
    patience_s: float,
    wait: bool,
) -> None:
    events: list[EventId] = []

    def told(event_id: EventId) -> None:
        if wait:
            events.append(event_id)
        if as_json:
            tell_id(event_id)

    async with AsyncExitStack() as stack:
        if join or (client := await attached(stack, whom, guest)) is None:
            node = await visiting(stack, wish, guest)
            await publish_all(
                lambda data: node.publish(wish.topic, data, attributes=wish.attributes), given(once), told
            )
            done = await wait_until_taken(node, wish.topic, patience_s, hopefully=not wait)
        else:
            await publish_all(
                lambda data: client.publish(wish.topic, data, attributes=wish.attributes, key=wish.key),
                given(once),
                told,
            )
            done = await client.handed_over(events, patience_s)
    if wait and events:
        tell_copies(done, len(events), patience_s, as_json)


async def attached(stack: AsyncExitStack, whom: Attachment, guest: Config | None) -> Client | None:
    """The node of this machine, attached to; None: it does not run, but there are others to turn to."""
    client = whom.client()
    try:
        await stack.enter_async_context(client)
    except TransportDown as wrong:
        if client.answered:
            raise
        if guest is None:
            raise TransportDown(
                f"{wrong}: start a node with `gossamer node`, or name one to be a guest of with --seed HOST:PORT"
            ) from None
        notice(f"no node answers at {whom.address}: publishing as a guest through {', '.join(guest.seeds)}")
        return None
    return client


async def visiting(stack: AsyncExitStack, wish: Wish, guest: Config | None) -> Node:
    if guest is None:
        raise Misuse("a guest needs somebody to begin with: name a seed with --seed HOST:PORT, or settings with seeds")
    if wish.key is not None:
        raise Misuse("--key is remembered in a node's spool, and a guest has none: start a node, or leave the key out")
    node = await stack.enter_async_context(Node(guest))
    node.station.handover.joins = False
    return node


# What is published


def single(payload: str | None, file: Path | None) -> bytes | None:
    """The one payload given; None: they come from stdin."""
    if payload is not None and file is not None:
        raise Misuse("give the payload or --file, not both")
    if file is None:
        return None if payload in (None, STDIN) else payload.encode(errors="surrogateescape")
    try:
        return file.read_bytes()
    except OSError as wrong:
        raise Misuse(f"cannot read {file}: {wrong.strerror}") from None


async def given(once: bytes | None) -> AsyncIterator[list[bytes]]:
    if once is not None:
        yield [once]
        return
    if sys.stdin.isatty():
        notice("each line is an event; end with Ctrl-D")
    async for batch in lines():
        yield batch


def attribute(said: str) -> tuple[str, Attribute]:
    name, equals, text = said.partition("=")
    if not equals or not name:
        raise Misuse(f"--attribute {said}: write NAME=VALUE, like minute=88")
    return name, value_of(text)


def value_of(text: str) -> Attribute:
    """A whole number, a number, true or false; anything else, and what is quoted, is text."""
    if re.fullmatch(r"[+-]?\d+", text, re.ASCII):
        return int(text)
    if re.fullmatch(r"[+-]?(\d+\.\d*|\.\d+|\d+(?=[eE]))([eE][+-]?\d+)?", text, re.ASCII):
        return float(text)
    if text in ("true", "false"):
        return text == "true"
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def tell_id(event_id: EventId) -> None:
    with suppress(BrokenPipeError):  # the events are published whether or not somebody reads their ids
        say_json({"id": spelled(event_id)})


def tell_copies(done: HandedOver, events: int, patience_s: float, as_json: bool) -> None:
    """How many members have the events; TransportDown if too few do."""
    if done.waiting:
        raise TransportDown(
            f"{done.waiting} of {events} events are not with enough members after {patience_s:g} s: they stay in the "
            "outbox of the node, which goes on offering them"
        )
    if done.given_up:
        raise TransportDown(f"nobody wants {done.given_up} of {events} events, so nobody has them: subscribe first")
    with suppress(BrokenPipeError):
        if as_json:
            say_json({"on_disk": done.on_disk, "in_memory": done.in_memory})
        else:
            say(f"on disk at {done.on_disk} members, in memory at {done.in_memory}")
