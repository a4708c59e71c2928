"""Nodes of tests, put together from a few layers: roles that nobody was given to are filled by who does nothing."""

from collections.abc import Sequence
from typing import Any

from gossamer.core.events import Event
from gossamer.core.layer import Layer
from gossamer.core.roles import Spread
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic


class Silence:
    """A spread that keeps everything to itself."""

    relays = False

    def publish(self, events: Sequence[Event]) -> bool:
        return True

    def has_place(self, topic: Topic) -> bool:
        return True


def use(node: Stack, *layers: Layer | None, spread: Spread | None = None, **roles: Any) -> Stack:
    """The node, made of these layers."""
    given = {**dict.fromkeys(("members", "contacts", "links", "outside", "recover")), **roles}
    node.use(*layers, spread=spread or Silence(), **given)
    return node
