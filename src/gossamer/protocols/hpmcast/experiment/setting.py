"""An experiment on hpmcast: who lives where in a hierarchy, how many want the event, and a network that loses.

Made from plain numbers. What a seed makes of it is drawn here or in `kernel/arrays.py`, by the same keys; machines and
kernel both start from that, so the two cannot disagree.
"""

import math
from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from gossamer.core.draws import INTEREST, PLACE, PUBLISH, STILLBORN, chance, draw, fold, upper_pick
from gossamer.core.errors import Misuse
from gossamer.core.setting import event_id
from gossamer.protocols.hpmcast.addresses import number_of, shape_of
from gossamer.protocols.hpmcast.params import Params

LEVELS_MAX = 60
PLACES_MAX = 1 << 62
"Addresses a hierarchy can have."
PARTICIPANTS_MAX = 1 << 30
ATTEMPTS_MAX = 1 << 10
LIKE_OTHERS, GROUP = 1, 2
"What is drawn of interest beside everybody's own: who goes by its lowest group, and what that wants."


class HierarchySetting(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that is chosen about an experiment, but for the seed."""

    branching: tuple[int, ...] = (22, 22, 22)
    "a: subsystems of a subsystem, the topmost level first, as an address is written."
    populated: float = 1.0
    "The share of all addresses that somebody has; below 1, which ones is drawn."
    addresses: tuple[tuple[int, ...], ...] = ()
    "Who lives where, instead of a share: digits below `branching`, in ascending order."
    params: Params = field(default_factory=Params)
    interest: float = 0.5
    "p1: the chance that a participant wants the event."
    local: float = 0.0
    """How much neighbours want the same: with this chance a participant wants what its lowest group was drawn to want,
    instead of what was drawn for itself. However it is, as many want the event."""
    loss: float = 0.0
    "ε: the chance that a message is lost."
    crashed: float = 0.0
    "τ: the chance that a participant, but for the publisher, has crashed beforehand."
    attempts: int = 1
    """How often a message of the topmost level is sent until it is answered (an answer can be lost, too): a medium more
    reliable than the others, since what is missed there is missed by a whole subsystem."""
    publisher: int | None = None
    "Who publishes, counted in the order of addresses; None: drawn."

    def __post_init__(self) -> None:
        for wrong, sentence in self._complaints():
            if wrong:
                raise Misuse(sentence)

    def _complaints(self) -> Iterator[tuple[bool, str]]:
        yield not 1 <= len(self.branching) <= LEVELS_MAX, f"a hierarchy has 1 to {LEVELS_MAX} levels"
        yield min(self.branching) < 1, "branching must be at least 1 on every level"
        yield math.prod(self.branching) > PLACES_MAX, f"a hierarchy has at most {PLACES_MAX:,} addresses"
        yield not 0 < self.populated <= 1, "populated is a share of the addresses: more than 0, at most 1"
        given = len(self.addresses) > 0
        yield given and self.populated < 1, "who is there is either given by addresses or drawn by populated, not both"
        digits_wrong = any(len(each) != len(self.branching) for each in self.addresses) or any(
            not 0 <= digit < radix for each in self.addresses for digit, radix in zip(each, self.branching)
        )
        shape = shape_of(self.branching)
        yield digits_wrong, f"every one of addresses needs digits like {shape}, as branching and levels say"
        rising = all(one < other for one, other in zip(self.addresses, self.addresses[1:]))
        yield not rising, "addresses must be in ascending order, each once"
        too_many = not given and math.prod(self.branching) > PARTICIPANTS_MAX
        yield too_many, f"at most {PARTICIPANTS_MAX:,} participants: give addresses, or less branching"
        yield not 0 <= self.interest <= 1, "interest is a probability: 0 to 1"
        yield not 0 <= self.local <= 1, "local is a probability: 0 to 1"
        yield not 0 <= self.loss < 1, "loss is a probability: at least 0, less than 1"
        yield not 0 <= self.crashed < 1, "crashed is a share: at least 0, less than 1"
        yield not 1 <= self.attempts <= ATTEMPTS_MAX, f"attempts must be 1 to {ATTEMPTS_MAX:,}"
        least = len(self.addresses) if given else math.prod(self.branching) if self.populated == 1 else None
        least = PARTICIPANTS_MAX if least is None else least
        yield (
            self.publisher is not None and not 0 <= self.publisher < least,
            "publisher must be the number of a participant",
        )

    @classmethod
    def regular(cls, branching: int | Sequence[int], levels: int | None = None, **chosen: object) -> "HierarchySetting":
        """A hierarchy with the same branching on every level, or one number per level, the topmost first."""
        if levels is not None and not 1 <= levels <= LEVELS_MAX:
            raise Misuse(f"levels must be 1 to {LEVELS_MAX}, not {levels}")
        if isinstance(branching, int):
            return cls(branching=(branching,) * (3 if levels is None else levels), **chosen)  # type: ignore[arg-type]
        if levels is not None and levels != len(branching):
            raise Misuse(f"branching names {len(branching)} levels, and levels says {levels}: leave levels out")
        return cls(branching=tuple(branching), **chosen)  # type: ignore[arg-type]

    @property
    def levels(self) -> int:
        """l, as the variant has it."""
        return len(self.branching) if self.params.variant == "hpmcast" else 1

    def inhabited(self, seed: int) -> list[int]:
        """Who is there: addresses as numbers, in ascending order. `kernel/arrays.py` does the same for many."""
        if self.addresses:
            return [number_of(address, self.branching) for address in self.addresses]
        places = range(math.prod(self.branching))
        if self.populated == 1:
            return list(places)
        key = fold(seed, PLACE)
        return [place for place in places if chance(key, place) < self.populated] or [0]

    def publishes(self, seed: int, participants: int) -> int:
        """Who publishes, of so many."""
        if self.publisher is not None:
            return min(self.publisher, participants - 1)
        return int(upper_pick(draw(fold(seed, PUBLISH), 0), participants))

    def wants(self, seed: int, who: int, place: int) -> bool:
        """Whether a participant who lives in this place wants the event. `kernel/arrays.py` does the same."""
        key = fold(seed, INTEREST)
        if self.local and chance(fold(key, LIKE_OTHERS), who) < self.local:
            return bool(chance(fold(key, GROUP), place // self.branching[-1]) < self.interest)
        return bool(chance(key, who) < self.interest)

    def is_down(self, seed: int, who: int) -> bool:
        """Whether a participant, who must not be the publisher, has crashed."""
        return bool(chance(fold(seed, STILLBORN), who) < self.crashed)

    def word(self, publisher: int) -> int:
        """What stands for the event in draws."""
        return event_id(publisher, 0).word()
