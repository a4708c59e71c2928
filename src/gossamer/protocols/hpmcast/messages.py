"""What participants of a hierarchy say to each other."""

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from gossamer.core.events import Carried

Level: TypeAlias = Annotated[int, Meta(ge=1, le=60)]
Rounds: TypeAlias = Annotated[int, Meta(ge=0, le=2**31)]
Padding: TypeAlias = Annotated[int, Meta(ge=0, le=2**30)]


class Gossip(Struct, frozen=True, tag="hpmcast.gossip"):
    """An event, told on a level: what the sender knows of its audience there travels along."""

    carried: Carried
    level: Level
    prob: float
    "The share of the view that wants it; 0: all of them have been told, there is nothing left to do on this level."
    rounds: Rounds
    "How often it was gossiped on this level, since the first who had it there."
    padding: Padding = 0
    "So many of the view's first participants count as interested too."


Message: TypeAlias = Gossip
