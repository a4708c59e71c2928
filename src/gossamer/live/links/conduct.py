"""What a node puts up with from a peer, over all its links: whoever calls again finds what it has left."""

from gossamer.parts.bucket import Buckets

STRIKES_MAX = 20
STRIKES_PER_S = 0.1
"Messages whose sender is to blame, before a link is closed: at once, and on average."
CHECKS_PER_S = 100.0
CHECKS_BURST = 1000
"Records and lists of one peer whose signatures are looked at: genuine ones cost as much as others."


class Conduct:
    """Of all peers and clients of one node, by role and name."""

    def __init__(self) -> None:
        self.strikes = Buckets(STRIKES_PER_S, STRIKES_MAX)
        self.checks = Buckets(CHECKS_PER_S, CHECKS_BURST)
