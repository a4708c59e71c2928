"""What can be tuned in SCAMP; the letters are the paper's (Ganesh, Kermarrec, Massoulié)."""

from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.core.machine import SECOND_US
from gossamer.protocols.scamp.messages import HOPS_MAX, LEASE_US_MAX

AT_LEAST_ONE = (
    "forwards_max",
    "lease_us",
    "first_lease_us",
    "beat_every_us",
    "asks_per_beat",
    "beats_missed",
    "isolated_us",
    "patience_us",
    "patience_max_us",
    "tries",
    "view_max",
    "size_every_us",
    "epoch_us",
)
AT_MOST = {
    "indirection": HOPS_MAX,
    "forwards_max": HOPS_MAX,
    "lease_us": LEASE_US_MAX,
    "first_lease_us": LEASE_US_MAX,
}


class Params(Struct, frozen=True, kw_only=True):
    """One community's settings."""

    extra_copies: int = 1
    """c: copies of a subscription beyond the contact's view. Views grow to (c + 1) ln N. Higher: more crashes
    survived, more beats sent."""
    indirection: int = 5
    """Steps a join walks before a contact acts on it. More: the contact is nearer to uniform and views nearer to
    (c + 1) ln N, joining slower. 0: whoever the search named acts."""
    forwards_max: int = 32
    """Hops a copy of a subscription may travel; it stays where the last one takes it. More: views more even, joins
    costlier."""
    lease_us: int = 60 * SECOND_US
    """How long a subscription is good for. Shorter: views are shuffled and islands found sooner, at the cost of a
    join each time."""
    first_lease_us: int = 6 * SECOND_US
    """The same for a newcomer's first subscription; each later one lasts twice as long, up to lease_us. Shorter:
    islands that formed while everybody started at once grow together sooner."""
    beat_every_us: int = 3 * SECOND_US
    """How often view members are asked for a sign of life. Shorter: the dead are noticed sooner, at two messages per
    view entry."""
    asks_per_beat: int = 4
    """How often within one beat those are asked that do not answer. The quarter of a beat should exceed a round trip;
    if it does not, nothing breaks, but the slow are asked more often."""
    beats_missed: int = 4
    """A peer silent for this many beats, n = beats_missed × asks_per_beat questions, is dropped, at most one beat
    later. A live one fails to answer them all with (1 - (1 - loss)²)ⁿ at each beat: with 16 questions and 10 % loss
    once in 3 × 10⁸ hours, with 30 % once in 40 hours. More: fewer false alarms on lossy links, slower to notice."""
    isolated_us: int = 15 * SECOND_US
    "A node that hears no beat for this long is in nobody's view and joins again. Several beats."
    patience_us: int = 1 * SECOND_US
    "How long to wait for the search's answer, and again for the contact's: several times the walk of a join."
    tries: int = 3
    """After this many unanswered attempts a node takes its place alone (twice as many while contacts are named that
    do not answer). More: surer to find the others first, slower to found a community."""
    patience_max_us: int = 16 * SECOND_US
    "A lone node asks ever more rarely, down to once in this long."
    view_max: int = 256
    "Bound of the view, and of the in-view: generous, (c + 1) ln N stays far below."
    size_every_us: int = SECOND_US // 2
    "How often a node exchanges marks with a member to count the community; an epoch should see 16 exchanges or more."
    epoch_us: int = 8 * SECOND_US
    """How long one count lasts. Members that left are forgotten after one to two epochs. Shorter: fresher, but large
    communities are counted short."""

    def __post_init__(self) -> None:
        if self.extra_copies < 0 or self.indirection < 0:
            raise Misuse("extra_copies and indirection must not be negative")
        for name in AT_LEAST_ONE:
            if getattr(self, name) < 1:
                raise Misuse(f"{name} must be at least 1, not {getattr(self, name)}")
        for name, most in AT_MOST.items():
            if getattr(self, name) > most:
                raise Misuse(f"{name} must be at most {most}, not {getattr(self, name)}: peers would not hear of more")
        if self.isolated_us <= self.beat_every_us:
            raise Misuse("isolated_us must exceed beat_every_us: a node would feel alone between two beats")
        if self.epoch_us <= self.size_every_us:
            raise Misuse("epoch_us must exceed size_every_us: nothing could be exchanged within an epoch")
