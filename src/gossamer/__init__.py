"""Publish/subscribe without a broker, where an event only ever touches processes that want it."""

from typing import TYPE_CHECKING, Any

from gossamer.core import errors
from gossamer.core.events import Event
from gossamer.core.ids import EventId
from gossamer.core.topics import Topic

if TYPE_CHECKING:
    from gossamer.core.filters import F, Filter, parse
    from gossamer.core.typed import Typed, topic_of
    from gossamer.core.typed_fields import Filterable
    from gossamer.live.clients.client import Client
    from gossamer.live.config.config import Config
    from gossamer.live.node import Node
    from gossamer.live.reading.bookmarks import Bookmark
    from gossamer.live.reading.deliveries import Delivery, Gap
    from gossamer.live.reading.typed_inbox import TypedInbox, Unreadable, delivery_of

__version__ = "0.1.0"

__all__ = [
    "Bookmark",
    "Client",
    "Config",
    "Delivery",
    "Event",
    "EventId",
    "F",
    "Filter",
    "Filterable",
    "Gap",
    "Node",
    "Topic",
    "Typed",
    "TypedInbox",
    "Unreadable",
    "__version__",
    "delivery_of",
    "errors",
    "parse",
    "topic_of",
]

LATER = {
    "Bookmark": "gossamer.live.reading.bookmarks",
    "Client": "gossamer.live.clients.client",
    "Config": "gossamer.live.config.config",
    "Delivery": "gossamer.live.reading.deliveries",
    "F": "gossamer.core.filters",
    "Filter": "gossamer.core.filters",
    "Filterable": "gossamer.core.typed_fields",
    "Gap": "gossamer.live.reading.deliveries",
    "Node": "gossamer.live.node",
    "Typed": "gossamer.core.typed",
    "TypedInbox": "gossamer.live.reading.typed_inbox",
    "Unreadable": "gossamer.live.reading.typed_inbox",
    "delivery_of": "gossamer.live.reading.typed_inbox",
    "parse": "gossamer.core.filters",
    "topic_of": "gossamer.core.typed",
}
"Imported on first use: a simulation or a Spark executor needs no sockets, and not every node a grammar."


def __getattr__(name: str) -> Any:
    if name in LATER:
        from importlib import import_module

        return getattr(import_module(LATER[name]), name)
    raise AttributeError(f"module 'gossamer' has no attribute {name!r}")
