"""Who stands for a subsystem: everybody in it comes to the same answer without asking anybody (4.1.3, 4.2.2)."""

from collections.abc import Sequence

from gossamer.core.ids import Peer
from gossamer.core.topics import Hierarchy
from gossamer.protocols.hpmcast.addresses import Address
from gossamer.protocols.hpmcast.messages import Seat
from gossamer.protocols.hpmcast.upkeep import Choice
from gossamer.protocols.hpmcast.wanting import WantedPatterns


def elected(lines: Sequence[Sequence[Seat]], redundancy: int, choice: Choice) -> tuple[Seat, ...]:
    """The R delegates of a subsystem, out of those of the subsystems in it; all of them where there are fewer."""
    match choice:
        case "branches":
            turns = max(map(len, lines), default=0)
            candidates = [line[turn] for turn in range(turns) for line in lines if turn < len(line)][:redundancy]
            ranked = sorted(candidates, key=place)
        case "address":
            ranked = sorted((seat for line in lines for seat in line), key=place)
        case _:
            ranked = sorted((seat for line in lines for seat in line), key=lambda seat: (-seat.weight, place(seat)))
    return tuple(ranked[:redundancy])


def place(seat: Seat) -> tuple[Address, Peer]:
    return seat.address, seat.peer


def covering(members: Sequence[tuple[Seat, WantedPatterns]], redundancy: int, hierarchy: Hierarchy) -> list[Seat]:
    """The members of a lowest group, weighed by what they add: the first of them covers the interests of as many
    members as anybody can, the second of as many of the others, and so on."""
    left = [wanted for _, wanted in members if wanted.interest]
    candidates = sorted(members, key=lambda member: place(member[0]))
    seats: list[Seat] = []
    while candidates and len(seats) < redundancy:
        gains = [sum(each.includes(other, hierarchy) for other in left) for _, each in candidates]
        best = max(range(len(candidates)), key=lambda at: (gains[at], -at))
        seat, wanted = candidates.pop(best)
        seats.append(Seat(seat.address, seat.peer, gains[best]))
        left = [other for other in left if not wanted.includes(other, hierarchy)]
    return seats
