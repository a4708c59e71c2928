"""gossamer publish: hands events to the network, through a node or, without one, as a guest."""

import json
import re
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import click
from msgspec import Struct

from gossamer.cli.attaching import Attachment, attaching, attachment, notice, spelled
from gossamer.cli.in_flight import Publish, publish_all
from gossamer.cli.stdin import lines
from gossamer.core.errors import Misuse, TransportDown
from gossamer.core.events import Attribute
from gossamer.core.ids import EventId
from gossamer.core.topics import Topic
from gossamer.live.arguments import publication
from gossamer.live.config import Config
from gossamer.live.daemon import run
from gossamer.live.guest import guest_config, wait_until_taken
from gossamer.live.node import Node


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
    type=click.FloatRange(0, min_open=True),
    default=10.0,
    show_default=True,
    help="Seconds a guest waits until members have the events.",
)
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
) -> None:
    """Publish PAYLOAD, a file, or (given neither) each line of stdin as an event of its own.

    The node of this machine takes them: exit code 0 means that they are in its spool. If none answers and there are
    seeds, in the settings or with --seed, the command finds members itself, as a guest: 0 means that three of them, or
    all if there are fewer, have the events, 1 that they do not.
    """
    once = single(payload, file)
    checked = publication(where, once or b"", dict(map(attribute, attributes)), key)  # before anybody is called
    wish = Wish(checked.topic, checked.attributes, key)
    if key is not None and once is None:
        raise Misuse("--key names one event: give its payload, or --file")
    whom = attachment(path, node, keys, network)
    guest = guest_config(whom.config, whom.keys, whom.network, seeds)
    run(publish(whom, wish, once, guest, join, as_json, timeout))


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
) -> None:
    told = tell_id if as_json else lambda event_id: None
    async with AsyncExitStack() as stack:
        if join or (through := await attached(stack, whom, wish, guest)) is None:
            node = await visiting(stack, wish, guest)
            await publish_all(
                lambda data: node.publish(wish.topic, data, attributes=wish.attributes), given(once), told
            )
            await wait_until_taken(node, wish.topic, patience_s)
        else:
            await publish_all(through, given(once), told)


async def attached(stack: AsyncExitStack, whom: Attachment, wish: Wish, guest: Config | None) -> Publish | None:
    """Publishing through the node of this machine; None: it does not run, but there are others to turn to."""
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
    return lambda data: client.publish(wish.topic, data, attributes=wish.attributes, key=wish.key)


async def visiting(stack: AsyncExitStack, wish: Wish, guest: Config | None) -> Node:
    if guest is None:
        raise Misuse("a guest needs somebody to begin with: name a seed with --seed HOST:PORT, or settings with seeds")
    if wish.key is not None:
        raise Misuse("--key is remembered in a node's spool, and a guest has none: start a node, or leave the key out")
    node = await stack.enter_async_context(Node(guest))
    node.station.publishing.joins = False
    return node


# What is published


def single(payload: str | None, file: Path | None) -> bytes | None:
    """The one payload given; None: they come from stdin."""
    if payload is not None and file is not None:
        raise Misuse("give the payload or --file, not both")
    if file is None:
        return None if payload is None else payload.encode(errors="surrogateescape")
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
        click.echo(json.dumps({"id": spelled(event_id)}))
