"""Requests that make others work: joins, copies of subscriptions, searches. Everybody may make so many, so that nothing
a peer says grows on its way through the network."""

import time

from gossamer.core.ids import Peer
from gossamer.core.machine import Message
from gossamer.live.allowance import Allowances
from gossamer.protocols.scamp.messages import Forward, Join
from gossamer.protocols.search.messages import ReqContact

RELAYED = 100
"""Times as many requests of others may be passed on by one peer: it serves many. Whose it says they are does not count,
or it could use up what others may ask."""


class Requests:
    """Allowances of everybody who asks, and of everybody who passes requests on."""

    def __init__(self, per_s: float, burst: float) -> None:
        self.own = Allowances[Peer](per_s, burst)
        self.relayed = Allowances[Peer](per_s * RELAYED, burst * RELAYED)

    def allows(self, message: Message, sender: Peer) -> bool:
        match message:
            case Join(who=origin) | ReqContact(origin=origin) if origin == sender:
                return self.own.take(sender, time.monotonic())
            case Join() | Forward() | ReqContact():
                return self.relayed.take(sender, time.monotonic())
        return True
