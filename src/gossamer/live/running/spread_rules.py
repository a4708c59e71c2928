"""What the way events travel asks of a node beside its machine: one object for each spread, chosen by `rules_of`."""

import logging

from gossamer.core.ids import EventId, Peer
from gossamer.core.machine import Message
from gossamer.core.stack import Stack
from gossamer.core.topics import Topic
from gossamer.live.arriving.permissions import Permissions
from gossamer.live.keys.trust import Trust
from gossamer.live.links.address_book import AddressBook
from gossamer.protocols.dispatch.layer import Dispatch
from gossamer.protocols.hpmcast.addresses import Address, distance, written
from gossamer.protocols.hpmcast.layer import Hpmcast
from gossamer.protocols.hpmcast.messages import LevelGossip, SubsystemRow

log = logging.getLogger("gossamer.node")

TWINS_MAX = 16
"Nodes at this one's address that are told of, each once."


class SpreadRules:
    """The answers where membership settles all of this; others differ in some."""

    bound = False
    "Whether others must have been granted the addresses where they say they live."

    def is_unwanted(self, event_id: EventId) -> bool:
        """Whether an event of ours went to nobody because nobody wants it."""
        return False

    def knows_all(self) -> bool:
        """Whether it has heard of all that others want: then an event that nobody wants is given up at once."""
        return True

    def is_underway(self) -> bool:
        """Whether events are still going to be told to others, later and without being asked for."""
        return False

    def fits(self, peer: Peer, message: Message) -> bool:
        """Asked of what carries an event: whether such a peer could have sent it."""
        return True

    def takes_part(self, peer: Peer) -> bool:
        """Asked of everybody a row names: whether it may stand in a view."""
        return True

    def saw(self, row: SubsystemRow) -> None:
        """A row arrived that its author signed."""

    def may_register(self, peer: Peer, name: str) -> bool:
        """Whether somebody may be a member of the topic that is spelled like this; one that nobody here can read says
        nothing."""
        return True

    def met(self, peer: Peer) -> None:
        """Somebody's record is news."""


class CommunityRules(SpreadRules):
    """Events travel along communities, whose members may be registered in an overlay."""

    def __init__(self, machine: Stack, permissions: Permissions) -> None:
        self.machine, self.permissions = machine, permissions

    def may_register(self, peer: Peer, name: str) -> bool:
        topic = self.machine.meant(name)
        return topic is None or self.permissions.may(peer, "subscribe", topic)


class TreeRules(SpreadRules):
    """Events travel along a tree, to whoever said that it wants them."""

    def __init__(self, machine: Stack, tree: Dispatch) -> None:
        self.pending, self.tree = machine.publications.pending, tree

    def is_unwanted(self, event_id: EventId) -> bool:
        return event_id not in self.pending and self.tree.linked()

    def knows_all(self) -> bool:
        return self.tree.settled()


class HierarchyRules(SpreadRules):
    """Whoever takes part carries what others want: only who may read all of the community gets rows, a place in a view,
    or events."""

    def __init__(
        self,
        me: Peer,
        machine: Stack,
        hierarchy: Hpmcast,
        community: Topic,
        address: Address,
        permissions: Permissions,
        trust: Trust,
        book: AddressBook,
    ) -> None:
        self.permissions = permissions
        self.me, self.community, self.address, self.trust, self.book = me, community, address, trust, book
        self.hierarchy, self.pending = hierarchy, machine.publications.pending
        self.bound = bool(trust.lives_at(me))
        """Settled when the node starts, so that all nodes of a network can be brought such grants while it runs, and
        started again one by one."""
        self.twins: dict[Peer, None] = {}
        self.told = False

    def takes_part(self, peer: Peer) -> bool:
        return self.permissions.may(peer, "subscribe", self.community)

    def is_underway(self) -> bool:
        return bool(self.hierarchy.gossips)

    def is_unwanted(self, event_id: EventId) -> bool:
        return event_id not in self.hierarchy.gossips and event_id not in self.pending

    def fits(self, peer: Peer, message: Message) -> bool:
        """Events are told on levels that both ends share: nobody from outside may say that all is done below."""
        if not isinstance(message, LevelGossip):
            return True
        granted = self.trust.lives_at(peer)
        return message.level >= distance(granted, self.address) if granted else not self.bound

    def saw(self, row: SubsystemRow) -> None:
        """Says once of everybody that it lives where this node does."""
        who = row.author
        if row.about != self.address or not row.count or who == self.me or who in self.twins:
            return
        if len(self.twins) < TWINS_MAX:
            self.twins[who] = None
            log.warning(
                "%s lives at %s, and so does %s: give every node an address of its own",
                self._name(who),
                written(self.address),
                self.trust.name,
            )

    def met(self, peer: Peer) -> None:
        """Says once that others were granted their addresses, and this node was not."""
        if not self.told and not self.trust.lives_at(self.me) and self.trust.lives_at(peer):
            self.told = True
            log.warning(
                "%s lives where it was granted to, and %s says itself where it lives, so it may be refused: "
                "gossamer keys grant NETWORK --node %s --address %s makes a grant that says it",
                self._name(peer),
                self.trust.name,
                self.trust.name,
                written(self.address),
            )

    def _name(self, peer: Peer) -> str:
        entry = self.book.get(peer)
        return str(peer) if entry is None else entry.record.name


def rules_of(
    me: Peer,
    machine: Stack,
    community: Topic,
    address: Address,
    permissions: Permissions,
    trust: Trust,
    book: AddressBook,
) -> SpreadRules:
    """Those of the spread this machine was built with."""
    match machine.spread:
        case Dispatch() as tree:
            return TreeRules(machine, tree)
        case Hpmcast() as hierarchy:
            return HierarchyRules(me, machine, hierarchy, community, address, permissions, trust, book)
    return CommunityRules(machine, permissions)
