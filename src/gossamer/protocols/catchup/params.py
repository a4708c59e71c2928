"""What can be tuned in catching up."""

from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.core.machine import SECOND_US

TIME_US_MAX = 1 << 53
ASK_MAX = 1 << 10
PER_S_MAX = 1 << 32


class Params(Struct, frozen=True, kw_only=True):
    """One node's. Nodes of a network may differ."""

    log: bool = True
    "Whether this node keeps a log. One that does not asks for nothing, and says that it has nothing."
    beat_us: int = SECOND_US
    "How often a node looks whether somebody came whom it has not compared logs with yet. Costs nothing if nobody did."
    rest_us: int = 2 * SECOND_US
    """Time between two comparisons with somebody drawn, when nothing happens. Shorter: what nobody noticed is found
    sooner; each is one message of some 70 bytes as long as logs are equal."""
    at_once: int = 4
    """Comparisons begun at one beat; an eighth of those that wait, if that is more. More: many who come at once are met
    sooner, in a larger burst."""
    patience_us: int = SECOND_US
    """How long what another has is waited for before it is asked for: most of it is on its way. It should exceed the
    time an event takes through the network and into the log."""
    ask: int = 512
    "Events asked for in one message. More: fewer round trips, larger bursts."
    wait_us: int = 5 * SECOND_US
    "How long an answer may take. Who gives none is left alone for `doubt_us`."
    doubt_us: int = 30 * SECOND_US
    "How long somebody is not asked who promised what it did not bring."
    give_up_us: int = 6 * SECOND_US
    """How long events are looked for that others lack too, before they are given up. Shorter: readers are told sooner,
    and somebody who has them may just be away."""
    witnesses: int = 3
    "Members that must lack an event before it is given up (all that are known, if fewer), beside its publisher."
    answers_per_s: int = 20
    "Questions of one peer that are answered per second, twice as many at once."
    bytes_per_s: int = 4 << 20
    "Payload one peer is brought per second, twice as much at once."

    def __post_init__(self) -> None:
        for name in ("beat_us", "rest_us", "patience_us", "wait_us", "doubt_us", "give_up_us"):
            if not 1 <= getattr(self, name) <= TIME_US_MAX:
                raise Misuse(f"{name} must be between 1 and {TIME_US_MAX}, not {getattr(self, name)}")
        for name, most in (
            ("at_once", 1000),
            ("ask", ASK_MAX),
            ("witnesses", 16),
            ("answers_per_s", PER_S_MAX),
            ("bytes_per_s", PER_S_MAX),
        ):
            if not 1 <= getattr(self, name) <= most:
                raise Misuse(f"{name} must be between 1 and {most}, not {getattr(self, name)}")
