"""What can be tuned in the overlay."""

from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.core.machine import SECOND_US


class Params(Struct, frozen=True, kw_only=True):
    """One network's settings: all its nodes should have the same."""

    load_max: int = 24
    """Registrations a leaf holds before its peers divide. Smaller: less storage for each, more levels to search
    through."""
    replicas_min: int = 4
    """Peers that hold the same leaf, at least, for it to be divided: each half shall keep so many. More: more crashes
    survived, more copies of each registration."""
    references: int = 4
    "Peers known on the other side of each level. More: more of them may be dead, more to look after."
    keep_every_us: int = 10 * SECOND_US
    """How often a peer asks one reference of every level, and one of those that hold the same leaf, for a sign of life
    and for news. Shorter: the dead are noticed sooner, at two messages a level."""
    settle_every_us: int = SECOND_US // 2
    "The same while its place changes; doubles up to `keep_every_us` as long as it does not."
    patience_us: int = SECOND_US // 2
    "How long a question may take to be answered before another peer is asked: more than a round trip."
    asks: int = 3
    "A peer that answers none of this many questions in a row is given up."
    lease_us: int = 120 * SECOND_US
    """How long a registration is good for; it is renewed after half of that. Shorter: who crashed is forgotten sooner,
    at a message or two for every topic each time."""
    answers: int = 8
    "Contacts asked for at a time."
    refresh_us: int = 4 * SECOND_US
    "How soon a table of members is drawn anew while its community changes; twice as long each time it did not."
    refresh_max_us: int = 60 * SECOND_US
    "How long it may stay as it is while nothing changes."

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if getattr(self, name) < 1:
                raise Misuse(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.lease_us < 2 * self.keep_every_us:
            raise Misuse("lease_us must be at least twice keep_every_us: registrations would end before they spread")
        if self.refresh_max_us < self.refresh_us:
            raise Misuse("refresh_max_us must be at least refresh_us")
