"""Hierarchies that are given: everybody's views, made from addresses once and for all."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from gossamer.core.events import Event
from gossamer.core.ids import Peer
from gossamer.protocols.hpmcast.addresses import Address, branch, delegates, subsystems
from gossamer.protocols.hpmcast.levels import ViewLine

MakeLine: TypeAlias = Callable[[Sequence[Peer], Sequence[Peer]], ViewLine]
"Of those that stand for a subsystem, and of all in it."


class Subsystem:
    """A line that does not change."""

    def __init__(self, peers: Sequence[Peer], members: Sequence[Peer], wants: Callable[[Peer, Event], bool]) -> None:
        self.peers = peers
        self.members = members
        self.wants = wants

    def matches(self, event: Event) -> bool:
        return any(self.wants(peer, event) for peer in self.members)


class FixedHierarchy:
    """All participants, numbered in the order of their addresses. Views of the same group are made once."""

    def __init__(self, addresses: Sequence[Address], delegates: int, line: MakeLine) -> None:
        self.addresses = sorted(addresses)
        self.peers = {address: peer for peer, address in enumerate(self.addresses)}
        self.delegates = delegates
        self.line = line
        self._views: dict[tuple[Address, int], list[ViewLine]] = {}

    def lines(self, of: Address, level: int) -> list[ViewLine]:
        """The view on this level of whoever lives below this branch address."""
        made = self._views.get((of, level))
        if made is None:
            made = [self._line(members) for _, members in subsystems(self.addresses, of, level)]
            self._views[of, level] = made
        return made

    def _line(self, members: Sequence[Address]) -> ViewLine:
        standing = delegates(members, self.delegates)
        return self.line([self.peers[each] for each in standing], [self.peers[each] for each in members])


class StaticViews:
    """One participant's views."""

    def __init__(self, hierarchy: FixedHierarchy, me: Peer) -> None:
        self.hierarchy = hierarchy
        self.address = hierarchy.addresses[me]
        self.levels = len(self.address)

    def lines(self, level: int) -> Sequence[ViewLine]:
        return self.hierarchy.lines(branch(self.address, level), level)

    def ready(self) -> bool:
        return True
