"""Recovery as part of a node: which Recover stands on a spread.

Recovery  by counts, on a spread that knows which patterns events match, and where each is wanted (a Ground)
Exchange  without counts, on one that knows which events its peers are to have (Matching), and no more
"""

from collections.abc import Callable
from typing import TypeAlias

from gossamer.core.roles import Ground, Matching
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.protocols.recovery.exchange import Exchange
from gossamer.protocols.recovery.layer import Recovery
from gossamer.protocols.recovery.params import Params

Wish: TypeAlias = Callable[[Topic], Params] | Params | None
"How what is lost is found again, topic by topic; None: not at all."


def recovering(node: Stack, ground: Ground, wish: Wish) -> Recovery | None:
    return None if wish is None else Recovery(node, ground, wish if callable(wish) else lambda topic: wish)


def exchanging(node: Stack, ground: Matching, wish: Wish) -> Exchange | None:
    return None if wish is None else Exchange(node, ground, wish if callable(wish) else lambda topic: wish)
