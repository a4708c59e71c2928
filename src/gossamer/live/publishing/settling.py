"""Who has just come to a topic knows few of its members: if all it knows have an event, not all may have it."""

from gossamer.core.topics import Topic

IDLE_S = 60.0
"A topic that was not published on for so long is a new one: its members may be others."
TOPICS_MAX = 10_000


class Settling:
    """When a publisher came to each topic, and when it was there last."""

    def __init__(self, settle_s: float) -> None:
        self.settle_s = settle_s
        "How long after its first event on a topic a publisher looks around before it takes those it knows for all."
        self._since_s: dict[Topic, tuple[float, float]] = {}

    def came(self, topic: Topic, now_s: float) -> bool:
        """Something is published there now. True: it is the first time, or the first time for long."""
        since_s, last_s = self._since_s.pop(topic, (now_s, -IDLE_S))
        is_new = now_s - last_s >= IDLE_S
        self._since_s[topic] = (now_s if is_new else since_s, now_s)
        if len(self._since_s) > TOPICS_MAX:
            del self._since_s[next(iter(self._since_s))]
        return is_new

    def is_over(self, topic: Topic, now_s: float) -> bool:
        came = self._since_s.get(topic)
        return came is None or now_s - came[0] >= self.settle_s
