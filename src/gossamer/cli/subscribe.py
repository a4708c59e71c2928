"""gossamer subscribe: events as they come."""

import asyncio
import base64
import contextlib
import json
import math
import os
import select
import signal
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from gossamer.cli.attaching import Attachment, attaching, attachment, notice, spelled
from gossamer.cli.numbers import Real
from gossamer.cli.terminal import safe, safe_json, say_json, write
from gossamer.core.errors import Misuse, TransportDown
from gossamer.core.events import Attribute
from gossamer.core.topics import Topic
from gossamer.live.clients.arguments import subscription
from gossamer.live.clients.reader import Reader
from gossamer.live.reading.deliveries import Delivery, Gap
from gossamer.live.running.daemon import run

HINT = "start a node with `gossamer node`, or say where one listens with --node HOST:PORT"
PAUSE_S = 0.2
PAUSE_MAX_S = 5.0
"A node that went away is called again after this, twice as long each time up to the second."


@click.command("subscribe", epilog="Example: gossamer subscribe .soccer.italy --json")
@click.argument("topic_name", metavar="TOPIC")
@attaching
@click.option("--where", default="", metavar="FILTER", help="Only events whose attributes match, like 'price > 100'.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per event.")
@click.option("--from-start", is_flag=True, help="First what the node's spool still has.")
@click.option("--name", "reader_name", help="Durable: goes on behind what was printed; several share it.")
@click.option("--no-recover", is_flag=True, help="Do not look for events that were lost on the way.")
@click.option("--ordered", is_flag=True, help="In order per publisher and topic; otherwise in no particular one.")
@click.option("--count", type=click.IntRange(1), help="Stop after so many events.")
@click.option("--timeout", type=Real(0, min_open=True), help="Stop after so many seconds.")
def command(
    topic_name: str,
    path: Path | None,
    node: str | None,
    keys: Path | None,
    network: str | None,
    where: str,
    as_json: bool,
    from_start: bool,
    reader_name: str | None,
    no_recover: bool,
    ordered: bool,
    count: int | None,
    timeout: float | None,
) -> None:
    """Print the events of TOPIC and its subtopics as a node gets them, until Ctrl-C.

    Lost events are told on stderr. If the node goes away, it is called until it is back.
    """
    if reader_name == "":  # of a variable that nobody has set: what is not durable would be lost
        raise Misuse("--name is empty: name the subscription, or leave --name out")
    checked = subscription(topic_name, where, reader_name or "")  # before anybody is called
    wish = Wish(checked.topic, where, checked.name, from_start, ordered, not no_recover)
    printer = Printer(as_json)
    with contextlib.suppress(BrokenPipeError, asyncio.CancelledError):
        run(until_stopped(attachment(path, node, keys, network), wish, printer, count, timeout))
    printer.close()
    if count is not None and printer.printed < count and printer.late:
        raise TransportDown(f"only {printer.printed} of {count} events came within {timeout:g} s")


class Wish(Struct, frozen=True):
    """What to read."""

    topic: Topic
    where: str
    name: str
    from_start: bool
    ordered: bool
    recover: bool


# Reading


async def until_stopped(
    whom: Attachment, wish: Wish, printer: "Printer", count: int | None, timeout: float | None
) -> None:
    """Ctrl-C, SIGTERM, and a stdout that nobody reads any more are good ends."""
    loop, reading = asyncio.get_running_loop(), asyncio.current_task()
    assert reading is not None
    with contextlib.suppress(NotImplementedError):
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, reading.cancel)
    threading.Thread(target=watch_stdout, args=(loop, reading.cancel), daemon=True).start()
    try:
        async with asyncio.timeout(timeout):
            async with contextlib.aclosing(items(whom, wish)) as coming:
                async for reader, item in coming:
                    printer.show(item)
                    if wish.name:
                        with contextlib.suppress(TransportDown):  # the item comes again, marked, once there is a link
                            await reader.ack(item)
                    if printer.printed == count:
                        return
    except TimeoutError:
        printer.late = True


async def items(whom: Attachment, wish: Wish) -> AsyncGenerator[tuple[Reader, Delivery | Gap], None]:
    """What comes, over as many links as it takes."""
    from_start, pause_s, away = wish.from_start, PAUSE_S, False
    attached = False
    while True:
        client = whom.client()
        try:
            async with (
                client,
                client.subscribe(
                    wish.topic,
                    where=wish.where,
                    name=wish.name,
                    from_start=from_start,
                    ordered=wish.ordered,
                    recover=wish.recover,
                ) as reader,
            ):
                if away:
                    notice(f"attached to the node at {whom.address} again")
                attached, away = True, False
                from_start = from_start and bool(wish.name)
                async for item in reader:
                    pause_s = PAUSE_S
                    yield reader, item
        except TransportDown as wrong:
            if not attached:
                raise wrong if client.answered else TransportDown(f"{wrong}: {HINT}") from None
            if not away:
                notice(f"{wrong}; it is called again until it answers")
            away = True
        await asyncio.sleep(pause_s)
        pause_s = min(PAUSE_MAX_S, 2 * pause_s)


def watch_stdout(loop: asyncio.AbstractEventLoop, broken: Callable[[], object]) -> None:
    """Tells when nobody reads what is printed any more, which otherwise only the next event would show. In a thread,
    because a loop that watches a pipe makes it one that refuses what it cannot take at once."""
    with contextlib.suppress(OSError, ValueError, RuntimeError, AttributeError):  # no descriptor, no loop, no poll
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
        if any(events & select.POLLERR for _, events in poll.poll()):
            loop.call_soon_threadsafe(broken)


# Printing


class Printer:
    """Writes events to stdout, each at once: whoever reads it may act on it, and only then it counts as read."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.printed = 0
        self.late = False

    def show(self, item: Delivery | Gap) -> None:
        if isinstance(item, Gap):
            self._show_gap(item)
            return
        write(safe_json(json.dumps(as_object(item), ensure_ascii=False)) if self.as_json else safe(as_line(item)))
        self.printed += 1

    def _show_gap(self, gap: Gap) -> None:
        if self.as_json:
            where = {"topic": gap.topic, "publisher": gap.publisher} if gap.topic else {}
            say_json({"gap": gap.lost, "why": gap.why, **where}, err=True)
        else:
            events = "1 event is" if gap.lost == 1 else f"{gap.lost} events are"
            notice(f"{events} {'missing' if gap.topic else 'lost to this reader'}: {gap.why}")

    def close(self) -> None:
        """What is left in Python's buffer when the reader has gone is not worth a complaint."""
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def as_line(event: Delivery) -> str:
    text = as_text(event.payload)
    said = text if text is not None else f"base64:{base64.b64encode(event.payload).decode()}"
    attributes = "".join(f"  {as_name(name)}={as_value(value)}" for name, value in event.attributes.items())
    return f"{event.topic}  {said}{attributes}"


def as_object(event: Delivery) -> dict[str, Any]:
    text = as_text(event.payload)
    payload = {"payload": text} if text is not None else {"payload_base64": base64.b64encode(event.payload).decode()}
    return {
        "topic": event.topic,
        **payload,
        "attributes": {name: in_json(value) for name, value in event.attributes.items()},
        "id": spelled(event.id),
        "published": datetime.fromtimestamp(event.published_us / 1e6, UTC).isoformat(timespec="microseconds"),
        "hops": event.hops,
        "place": event.place,
        "redelivered": event.redelivered,
    }


def as_name(name: str) -> str:
    """An attribute's name, in quotes if it is not plain to see where it ends."""
    return name if name.isprintable() else json.dumps(name)


def as_value(value: Attribute) -> str:
    return json.dumps(value, ensure_ascii=False)


def in_json(value: Attribute) -> Attribute | None:
    """JSON has no word for what is infinite or no number."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def as_text(payload: bytes) -> str | None:
    """The payload as text that a terminal may be shown; None: it is none, or would steer the terminal."""
    try:
        text = payload.decode()
    except UnicodeDecodeError:
        return None
    return text if text == safe(text) else None
