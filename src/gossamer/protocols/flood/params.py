"""What can be tuned in flooding."""

from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.core.machine import SECOND_US

TIME_US_MAX = 3600 * SECOND_US
REMEMBERED_MAX = 1 << 20


class Params(Struct, frozen=True, kw_only=True):
    neighbours: int = 8
    "Members each process knows and tells. Below about ln N some are missed; each one more costs N messages."
    tree: bool = False
    """Whether neighbours agree, by the copies that came too often, on a tree along which events are pushed, and only
    tell each other which events they have over all other links. Far fewer copies; a lost link costs a delay."""
    linger_us: int = SECOND_US // 50
    "How long ids are gathered before they are told over lazy links. Longer: fewer messages, later repair."
    patience_us: int = SECOND_US // 4
    """How long to wait for an event others say they have before it is asked for. Shorter: quicker repair, and more
    copies where the way along the tree is merely the longer one."""
    shortcut: int = 0
    """How many hops shorter a way must be, by what a lazy neighbour says, to be taken instead of the one in use. Less:
    shorter ways, more changes; with several publishers at once the tree may swing between them. 0: never."""
    remembered: int = 1000
    "Recent events kept for those who ask, and to know whose copy came first. More: later askers are served."

    def __post_init__(self) -> None:
        if self.neighbours < 1:
            raise Misuse(f"neighbours must be at least 1, not {self.neighbours}: nothing would ever be told")
        for name, least, most in (
            ("linger_us", 1, TIME_US_MAX),
            ("patience_us", 1, TIME_US_MAX),
            ("shortcut", 0, 1000),
            ("remembered", 1, REMEMBERED_MAX),
        ):
            if not least <= getattr(self, name) <= most:
                raise Misuse(f"{name} must be between {least} and {most}, not {getattr(self, name)}")


def refuse_tree(params: Params) -> None:
    """Experiments follow single events over fixed views."""
    if params.tree:
        raise Misuse("tree takes several events to grow and an experiment spreads one: leave it out")
