"""Requests that make others work: joins, copies of subscriptions, searches. Everybody may make so many, so that nothing
a peer says grows on its way through the network."""

from gossamer.core.ids import Peer
from gossamer.core.machine import Message
from gossamer.live.running.clock import monotonic_us
from gossamer.parts.bucket import Buckets
from gossamer.protocols.scamp.messages import Forward, Join
from gossamer.protocols.search.messages import ReqContact

RELAYED = 10
"""Times as many requests of others may be passed on by one peer: it serves many. Whose it says they are does not count,
or it could use up what others may ask."""


class Requests:
    """A bucket for everybody who asks, and one for everybody who passes requests on. The protocols have limits of their
    own; these can be set, and spare the machine."""

    def __init__(self, per_s: float, burst: float) -> None:
        self.tune(per_s, burst)

    def tune(self, per_s: float, burst: float) -> None:
        """Everybody may ask so often from now on."""
        self.own = Buckets(per_s, burst)
        self.relayed = Buckets(per_s * RELAYED, burst * RELAYED)

    def allows(self, message: Message, sender: Peer) -> bool:
        match message:
            case Join(who=origin) | ReqContact(origin=origin) if origin == sender:
                return self.own.take(sender, monotonic_us())
            case Join() | Forward() | ReqContact():
                return self.relayed.take(sender, monotonic_us())
        return True
