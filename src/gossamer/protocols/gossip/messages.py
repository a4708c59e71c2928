"""What gossiping nodes say to each other."""

from typing import TypeAlias

from msgspec import Struct

from gossamer.core.events import Carried


class Rumour(Struct, frozen=True, tag="gossip.rumour"):
    """An event, told to a few."""

    carried: Carried


Message: TypeAlias = Rumour
