"""Hierarchies in closed form: how long an event is gossiped in them, whom a participant knows, what a failure costs.
The paper's equations (4), (5), (9)–(21) and (28)–(36); the rest are in `theory.py`.

A function named `*_paper` is the printed formula, errors included, kept where a figure or a claim needs it; the one
without the suffix is the one to plan with. `arriving` is (1 − ε)(1 − τ). Hierarchies are regular: a lines in every
view, l levels, n = a^l participants (15), (16).
"""

import math

from msgspec import Struct

from gossamer.protocols.hpmcast import rules


def rounds(audience: float, fanout: float, arriving: float = 1.0) -> float:
    """T(n, F) (5), T(np₁, Fp₁) (9); (4) where all arrives. Never negative, the constant left out."""
    return float(rules.rounds(audience, 1.0, fanout, arriving))


def rounds_paper(audience: float, fanout: float, arriving: float = 1.0) -> float:
    """(9) as printed: negative where less than one participant is expected to want the event (Figure 9)."""
    told = fanout * arriving
    return math.log(audience) * (1 / math.log1p(told) + 1 / told)


class Shape(Struct, frozen=True):
    """A regular hierarchy and how it is gossiped in."""

    branching: int
    levels: int
    delegates: int = 3
    fanout: int = 2
    arriving: float = 1.0

    @property
    def size(self) -> int:
        """n (16); (11) with the same a on every level."""
        return int(self.branching**self.levels)

    def view(self, level: int) -> int:
        """m_i (17)."""
        return self.branching * (self.delegates if level > 1 else 1)

    def view_size(self) -> int:
        """m (18); (12) with the same number of lines on every level."""
        return self.delegates * self.branching * (self.levels - 1) + self.branching

    def represented(self, level: int) -> int:
        """(13), put right: participants that a delegate in a view of this level stands for."""
        return int(self.branching ** (level - 1))

    def interest(self, level: int, p1: float) -> float:
        """p_i (19)."""
        return float(1.0 - (1.0 - p1) ** self.represented(level))

    def interest_paper(self, level: int, p1: float) -> float:
        """p_i by (14) with (13) as printed: all below the branch of level i, one level too many."""
        return float(1.0 - (1.0 - p1) ** (self.branching**level))

    def rounds(self, level: int, p1: float) -> float:
        """T_i of (20)."""
        p = self.interest(level, p1)
        return rounds(self.view(level) * p, self.fanout * p, self.arriving)

    def rounds_total(self, p1: float) -> float:
        """T_tot (20)."""
        return sum(self.rounds(level, p1) for level in self._levels())

    def rounds_whole(self, p1: float) -> int:
        """The same as it happens: a level is gossiped in for whole rounds."""
        return sum(math.ceil(self.rounds(level, p1)) for level in self._levels())

    def rounds_shortened(self, p1: float) -> float:
        """T'_tot (21): less the time from 1 to R infected, which a subsystem begins with. For p₁ = 1 it is T(n, F),
        whatever the depth (28)."""
        return self.rounds_total(p1) - (self.levels - 1) * rounds(self.delegates, self.fanout, self.arriving)

    # How many of a level: (33)–(36)

    def ranks(self, level: int) -> int:
        """d_i (33): participants whose highest level this is."""
        a, r, top = self.branching, self.delegates, self.levels
        if level == top:
            return r * a if top > 1 else a
        return int(r * a ** (top - level) * (a - 1)) if level > 1 else int(a ** (top - 1) * (a - r))

    def known_by(self, level: int) -> int:
        """u_i (34)."""
        return int(self.branching**level) - 1

    def updated(self) -> float:
        """u_upd, the sum of (35): participants to tell when one fails, on average."""
        return sum(self.ranks(level) * self.known_by(level) for level in self._levels()) / self.size

    def updated_paper(self) -> int:
        """u_upd, the closed form of (35); the sum is the same to the last digit."""
        return (self.branching - 1) * (self.delegates * (self.levels - 1) + 1)

    def level_mean(self) -> float:
        """l_upd, the exact sum of (36)."""
        return sum(self.ranks(level) * level for level in self._levels()) / self.size

    def level_mean_paper(self) -> float:
        """l_upd as (36) ends: an integral for the sum, and the sign of its second half turned round."""
        return sum(self.level_terms_paper())

    def level_terms_paper(self) -> tuple[float, float]:
        """The two terms of that."""
        log_n, r, top = math.log(self.size), self.delegates, self.levels
        first = top**2 * r * self.branching / (self.size * log_n) * (1 - 1 / log_n)
        return first, top * r / log_n * (top / log_n - 1)

    def _levels(self) -> range:
        return range(1, self.levels + 1)


# Views by depth: (29)–(32)


def view_size(size: float, levels: float, delegates: int) -> float:
    """m (18) of n participants, for any depth, whole or not."""
    return float(size ** (1 / levels)) * (delegates * (levels - 1) + 1)


def view_slope(size: float, levels: float, delegates: int) -> float:
    """dm/dl of (18), with nothing left out."""
    steep = (delegates * (levels - 1) + 1) * math.log(size) / levels**2
    return float(size ** (1 / levels)) * (delegates - steep)


def view_slope_paper(size: float, levels: float, delegates: int) -> float:
    """dm/dl (30): that of lRn^(1/l), which counts R delegates on the lowest level too."""
    return delegates * float(size ** (1 / levels)) * (1 - math.log(size) / levels)


def view_bend_paper(size: float, levels: float, delegates: int) -> float:
    """d²m/dl² (31)."""
    return delegates * float(size ** (1 / levels)) * math.log(size) ** 2 / levels**3


def best_depth(size: float, delegates: int) -> float:
    """Where (18) is smallest; the paper has log n, which it nears as n grows."""
    log_n = math.log(size)
    return (log_n + math.sqrt(max(0.0, log_n**2 - 4 * (1 - 1 / delegates) * log_n))) / 2
