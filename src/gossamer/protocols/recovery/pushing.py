"""Push: whoever holds events of a pattern tells which (003, Fig. 2)."""

from collections.abc import Sequence

from gossamer.core.draws import ROUND
from gossamer.core.patterns import Pattern
from gossamer.core.stack import Stack
from gossamer.protocols.recovery import rules
from gossamer.protocols.recovery.holding import Holding
from gossamer.protocols.recovery.messages import Digest
from gossamer.protocols.recovery.passing import Passing


class Pushing:
    """Makes digests of what is held, and sends them on their way."""

    def __init__(self, node: Stack, holding: Holding, passing: Passing) -> None:
        self.node, self.holding, self.passing = node, holding, passing

    def tell(self, patterns: Sequence[Pattern], number: int, until_us: int) -> Digest | None:
        """Tells of what came by then, of the one of these patterns that is drawn."""
        if not patterns:
            return None
        return self.tell_of(patterns[rules.choice(self.node.key(ROUND, number), len(patterns))], number, until_us)

    def tell_of(self, pattern: Pattern, number: int, until_us: int) -> Digest | None:
        """Tells of what came by then of this one."""
        held = self.holding.digest(pattern.signature, until_us)
        if not held:
            return None
        ids, ages_us = zip(*held)
        digest = Digest(pattern, ids, self.node.me, number, ages_us)
        self.passing.begin(digest)
        return digest
