"""How much of the world a term lets through, guessed from the values that the given terms mention themselves.

Events are not known here, but subscribers ask for what there is: where many values are mentioned, many events are.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from gossamer.core.filters.spans import BEFORE, Cut, Ordered, Spans
from gossamer.core.filters.terms import Term
from gossamer.core.filters.values import FALSE, TRUE, Values


class Shares:
    """Per attribute, the values mentioned, in order."""

    def __init__(self, terms: Iterable[Term]) -> None:
        self.numbers: dict[str, list[Ordered]] = {}
        self.texts: dict[str, list[Ordered]] = {}
        for term in terms:
            for name, wanted in term.items():
                self.numbers.setdefault(name, []).extend(cut[0] for cut in wanted.numbers.cuts)
                self.texts.setdefault(name, []).extend(cut[0] for cut in wanted.texts.cuts)
        for mentioned in (*self.numbers.values(), *self.texts.values()):
            mentioned.sort()

    def of_term(self, term: Term) -> float:
        share = 1.0
        for name, wanted in term.items():
            share *= self.of_values(name, wanted)
        return share

    def of_values(self, name: str, wanted: Values) -> float:
        """The share of the mentioned values that are wanted; the kinds count a little by themselves."""
        numbers, texts = self.numbers.get(name, []), self.texts.get(name, [])
        inside = _inside(wanted.numbers, numbers) + _inside(wanted.texts, texts) * 0.5 ** len(wanted.musts)
        kinds = wanted.missing + bool(wanted.bools & FALSE) + bool(wanted.bools & TRUE)
        return (inside + kinds + 0.5) / (len(numbers) + len(texts) + 3.5)

    def of_gap(self, name: str, low: Cut, high: Cut) -> tuple[int, float]:
        """What it costs to fill a gap: values mentioned in it, then how wide it is."""
        if isinstance(low[0], str) or isinstance(high[0], str):
            alike = next((at for at, (one, other) in enumerate(zip(str(low[0]), str(high[0]))) if one != other), 0)
            return _inside(Spans(False, (low, high)), self.texts.get(name, [])), -float(alike)
        return _inside(Spans(False, (low, high)), self.numbers.get(name, [])), float(high[0] - low[0])


def _inside(wanted: Spans, mentioned: list[Ordered]) -> int:
    """How many of the sorted values are in the set: the places of its cuts among them tell."""
    places = [bisect_left(mentioned, at) if side == BEFORE else bisect_right(mentioned, at) for at, side in wanted.cuts]
    edges = [*([0] if wanted.inside else []), *places]
    if len(edges) % 2:
        edges.append(len(mentioned))
    return sum(edges[1::2]) - sum(edges[::2])
