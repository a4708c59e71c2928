"""Who may publish or subscribe to what, by its grant. Answers are believed for a while: proofs are dear."""

import time

from gossamer.core.ids import Peer
from gossamer.core.topics import Topic
from gossamer.live.keys.trust import Act, Trust

ALLOWED_S = 30.0
"How long a grant that was looked up is believed without looking again."
ALLOWED_MAX = 10_000


class Permissions:
    """As one node sees them."""

    def __init__(self, trust: Trust) -> None:
        self.trust = trust
        self.are_needed = trust.contexts() is not None
        "Whether anybody may do less than everything."
        self._allowed: dict[tuple[Peer, Act, Topic], float] = {}

    def may(self, peer: Peer, act: Act, topic: Topic) -> bool:
        now_s = time.time()
        if self._allowed.get((peer, act, topic), 0.0) > now_s:
            return True
        if not self.trust.may(peer, act, topic, now_s):
            return False
        if len(self._allowed) >= ALLOWED_MAX:
            self._allowed.clear()
        self._allowed[peer, act, topic] = now_s + ALLOWED_S
        return True

    def forget(self) -> None:
        """Grants or keys changed: nothing looked up before counts any more."""
        self._allowed.clear()
