"""Options that say which node a command attaches to, and as whom."""

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from msgspec import Struct

from gossamer.cli.terminal import say
from gossamer.core.errors import Misuse
from gossamer.core.ids import EventId
from gossamer.live.clients.client import Client
from gossamer.live.config.config import Config, load
from gossamer.live.config.tables import is_wildcard
from gossamer.live.keys.trust import is_loopback, split_address

F = TypeVar("F", bound=Callable[..., Any])

HERE = "127.0.0.1:7400"
"Where a node listens that was told nothing else."


class Attachment(Struct, frozen=True):
    """A node, and what a client shows it."""

    address: str
    keys: Path | None
    network: str
    config: Config | None

    def client(self) -> Client:
        return Client(self.address, keys=self.keys, network=self.network)


def attaching(command: F) -> F:
    """--config, --node, --keys and --network."""
    for option in (
        click.option("--network", envvar="GOSSAMER_NETWORK", help="The network's name, if it has one of its own."),
        click.option(
            "--keys",
            envvar="GOSSAMER_KEYS",
            type=click.Path(path_type=Path),
            help="The folder `gossamer keys grant` made; otherwise the one the node's settings name.",
        ),
        click.option("--node", metavar="HOST:PORT", help=f"The node to attach to.  [default: GOSSAMER_NODE, {HERE}]"),
        click.option(
            "--config",
            "path",
            envvar="GOSSAMER_CONFIG",
            type=click.Path(path_type=Path),
            help="The node's own settings: where it listens, its keys.",
        ),
    ):
        command = option(command)
    return command


def attachment(path: Path | None, node: str | None, keys: Path | None, network: str | None) -> Attachment:
    """The node meant: the one named, the one of these settings, the one of GOSSAMER_NODE, the one of this machine."""
    logging.getLogger("gossamer").addHandler(logging.NullHandler())  # these commands say themselves what is wrong
    config = load(path) if path is not None else None
    address = node or (callable_at(config, path) if config else os.environ.get("GOSSAMER_NODE") or HERE)
    split_address(address)
    keys = keys or (config.keys if config else None)
    if keys is None and not is_loopback(address):
        raise Misuse(f"{address} may be another machine, and without keys nothing leaves this one: give --keys FOLDER")
    return Attachment(address, keys, network or (config.network if config else "default"), config)


def callable_at(config: Config, path: Path | None) -> str:
    """Where a node with these settings can be called from its own machine."""
    host, port = split_address(config.bind)
    if port == 0:
        raise Misuse(f"{path} lets the node choose its port, so say where it listens: --node HOST:PORT")
    if is_wildcard(config.bind):
        return f"[::1]:{port}" if ":" in host else f"127.0.0.1:{port}"
    return config.bind


def spelled(event_id: EventId) -> str:
    """An id as one word: its numbers do not fit what JSON readers make of numbers."""
    return f"{event_id.publisher}-{event_id.incarnation}-{event_id.sequence}"


def notice(sentence: str) -> None:
    """For whoever watches; stdout is for events."""
    say(f"gossamer: {sentence}", err=True)
