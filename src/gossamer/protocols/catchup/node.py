"""Catching up as part of a node: it stands on any spread, and asks those whom that knows to have events of a topic."""

from collections.abc import Callable, Sequence

from gossamer.core.ids import Peer
from gossamer.core.layer import Layer
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.protocols.catchup.layer import CatchUp
from gossamer.protocols.catchup.logless import Logless
from gossamer.protocols.catchup.params import Params


def catching_up(node: Stack, partners: Callable[[Topic], Sequence[Peer]], params: Params | None) -> Layer | None:
    if params is None:
        return None
    return CatchUp(node, partners, params) if params.log else Logless(node)
