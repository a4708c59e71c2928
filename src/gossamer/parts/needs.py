"""Many topics, and which of them each of many others wants: looked up by word, not compared one by one."""

from collections.abc import Iterable, Sequence

from gossamer.parts.wants import Chain, Wants, by_word


class Needs:
    """A value: nobody changes it."""

    def __init__(self, chains: Iterable[Chain]) -> None:
        self.chains = tuple(chains)
        self._by_word = by_word(self.chains)

    def __len__(self) -> int:
        return len(self.chains)

    def covered(self, wants: Wants) -> Sequence[int]:
        """The places of those that are wanted, in order."""
        if wants.everything:
            return range(len(self.chains))
        places, words = self._by_word, wants.words
        both = [word for word in words if word in places] if len(words) < len(places) else [
            word for word in places if word in words
        ]  # fmt: skip
        if len(both) == 1:
            return places[both[0]]
        return sorted({at for word in both for at in places[word]})
