"""What this node wants itself, topic by topic: how long that is when told is known before it is told."""

from collections.abc import Iterable

from gossamer.core.interest import Change
from gossamer.core.topics import Hierarchy, Topic
from gossamer.parts.wants import NOTHING, WANTS_BYTES_MAX, WORD_BYTES, WORDS_MAX, Chain, Spell, Wants, chain_of


class OwnWants:
    """Invariant: `size` is the length of the wants packed. Sorted, each chain writes the words that the one before it
    does not begin with, so every beginning that any of them has is written once."""

    def __init__(self, hierarchy: Hierarchy, spell: Spell | None = None) -> None:
        self.hierarchy = hierarchy
        self.spell: Spell = spell or (lambda topic: topic)
        self.chains: dict[Topic, Chain] = {}
        self.words = 0
        self._begun: dict[Chain, int] = {}
        "How many chains begin so."
        self._wants: Wants | None = NOTHING

    def __len__(self) -> int:
        return len(self.chains)

    @property
    def size(self) -> int:
        return 2 * len(self.chains) + WORD_BYTES * len(self._begun)

    def now(self) -> Wants:
        if self._wants is None:
            self._wants = Wants(self.chains.values())
        return self._wants

    def take(self, change: Change) -> None:
        """The same change may be told twice: layers share this."""
        came = [topic for topic in change.joined if topic not in self.chains]
        went = [topic for topic in change.left if topic in self.chains]
        for topic in came:
            self.chains[topic] = chain = chain_of(topic, self.hierarchy, self.spell)
            self.words += len(chain)
            for start in _beginnings(chain):
                self._begun[start] = self._begun.get(start, 0) + 1
        for topic in went:
            chain = self.chains.pop(topic)
            self.words -= len(chain)
            for start in _beginnings(chain):
                self._begun[start] -= 1
                if not self._begun[start]:
                    del self._begun[start]
        if came or went:
            self._wants = None

    def has_room(self, topics: Iterable[Topic], gone: Iterable[Topic] = ()) -> bool:
        """Whether these could be told too, once those are gone."""
        told = dict.fromkeys(topics)
        came = [chain_of(topic, self.hierarchy, self.spell) for topic in told if topic not in self.chains]
        went = [self.chains[topic] for topic in dict.fromkeys(gone) if topic in self.chains and topic not in told]
        change: dict[Chain, int] = {}
        for chains, by in ((came, 1), (went, -1)):
            for start in (start for chain in chains for start in _beginnings(chain)):
                change[start] = change.get(start, 0) + by
        begun = sum((self._begun.get(start, 0) + by > 0) - (start in self._begun) for start, by in change.items())
        size = self.size + 2 * (len(came) - len(went)) + WORD_BYTES * begun
        words = self.words + sum(map(len, came)) - sum(map(len, went))
        return size <= WANTS_BYTES_MAX and words <= WORDS_MAX


def _beginnings(chain: Chain) -> list[Chain]:
    return [chain[:length] for length in range(1, len(chain) + 1)]
