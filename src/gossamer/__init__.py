"""Publish/subscribe without a broker, where an event only ever touches processes that want it."""

from typing import TYPE_CHECKING, Any

from gossamer.core import errors
from gossamer.core.events import Event
from gossamer.core.ids import EventId
from gossamer.core.topics import Topic

if TYPE_CHECKING:
    from gossamer.core.filters import Filter, parse
    from gossamer.live.client import Client
    from gossamer.live.config import Config
    from gossamer.live.deliveries import Delivery, Gap
    from gossamer.live.node import Node

__version__ = "0.1.0"

__all__ = [
    "Client",
    "Config",
    "Delivery",
    "Event",
    "EventId",
    "Filter",
    "Gap",
    "Node",
    "Topic",
    "__version__",
    "errors",
    "parse",
]

LATER = {
    "Client": "gossamer.live.client",
    "Config": "gossamer.live.config",
    "Delivery": "gossamer.live.deliveries",
    "Filter": "gossamer.core.filters",
    "Gap": "gossamer.live.deliveries",
    "Node": "gossamer.live.node",
    "parse": "gossamer.core.filters",
}
"Imported on first use: a simulation or a Spark executor needs no sockets, and not every node a grammar."


def __getattr__(name: str) -> Any:
    if name in LATER:
        from importlib import import_module

        return getattr(import_module(LATER[name]), name)
    raise AttributeError(f"module 'gossamer' has no attribute {name!r}")
