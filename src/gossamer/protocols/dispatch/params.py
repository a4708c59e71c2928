"""What can be tuned in dispatch."""

from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.core.machine import SECOND_US
from gossamer.parts.tree import Pace

AT_LEAST_ONE = (
    "degree",
    "patterns_max",
    "repeat_us",
    "agree_every_us",
    "linger_us",
    "beat_every_us",
    "patience_us",
    "silent_beats",
    "forget_beats",
)


class Params(Struct, frozen=True, kw_only=True):
    """One dispatcher's settings; all of a network should have the same."""

    covering: bool = False
    """Whether a pattern that another one includes is not told on. Smaller tables; but a publisher does not hear of what
    was held back and cannot tag events with it, so pull recovery sees no loss of it. Only where recovery does not
    pull."""
    patterns_max: int = 10_000
    """Patterns held of one neighbour, and told to one. More: larger tables. Beyond it a neighbour is asked for
    everything instead: costlier, but nothing is missed."""
    repeat_us: int = SECOND_US // 4
    "How long to wait for the answer to a change before it is told again. Several round trips."
    agree_every_us: int = 5 * SECOND_US
    "How often neighbours make sure that both mean the same table. Shorter: a forgotten one is filled sooner."
    linger_us: int = 5 * SECOND_US
    """How long others go on telling of what is wanted behind a link that vanished. Until the nodes behind it are found
    behind another link, publishers must count what these miss. Longer: surer, and more events to dead ends. Longer than
    the tree takes to mend."""
    beat_every_us: int = SECOND_US // 2
    "How often the tree's root beats. Shorter: whole again sooner, at a message per view entry and beat."
    patience_us: int = 1 * SECOND_US
    """How long a parent that falls behind the others is kept. Longer: fewer changes of parents on lossy links, a dead
    one noticed later. About two beats."""
    silent_beats: int = 4
    "After this many beats without a new one, up to twice as many, a node takes the root for dead and becomes one."
    forget_beats: int = 6
    "A child not heard of for this many beats is dropped."
    degree: int = 3
    "Links of an inner node in an experiment whose tree is given."

    def __post_init__(self) -> None:
        for name in AT_LEAST_ONE:
            if getattr(self, name) < 1:
                raise Misuse(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.degree < 2:
            raise Misuse(f"degree must be at least 2, not {self.degree}: a tree of single links has two nodes")
        if self.patience_us <= self.beat_every_us:
            raise Misuse("patience_us must exceed beat_every_us: every parent would seem to fall behind")

    @property
    def pace(self) -> Pace:
        return Pace(self.beat_every_us, self.patience_us, self.silent_beats, self.forget_beats)
