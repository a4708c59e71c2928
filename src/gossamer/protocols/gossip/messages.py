"""What gossiping nodes say to each other."""

from typing import TypeAlias

from gossamer.core.messages import Carrier


class Rumour(Carrier, frozen=True, tag="gossip.rumour"):
    """An event, told to a few."""


Message: TypeAlias = Rumour
