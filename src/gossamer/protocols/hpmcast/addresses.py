"""Where participants live: sequences of digits, of any radix per level, as `x(l-1) … x(0)`.

A branch address is the beginning of an address; everybody who shares it belongs to the same subsystem.
"""

import math
import re
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address
from typing import TypeAlias

from gossamer.core.errors import Misuse

Address: TypeAlias = tuple[int, ...]
"The topmost digit first, as it is written."

IP_ADDRESSES = 1 << 32


def number_of(address: Sequence[int], branching: Sequence[int]) -> int:
    """An address as one number: smaller addresses are smaller numbers."""
    number = 0
    for digit, radix in zip(address, branching, strict=True):
        number = number * radix + digit
    return number


def address_of(number: int, branching: Sequence[int]) -> Address:
    """The address that is this number."""
    if not 0 <= number < math.prod(branching):
        raise Misuse(f"there is no address {number}: this hierarchy has {math.prod(branching):,}")
    digits = []
    for radix in reversed(branching):
        number, digit = divmod(number, radix)
        digits.append(digit)
    return tuple(reversed(digits))


def read(text: str, branching: Sequence[int]) -> Address:
    """A logical address as people write it: digits with dots between, `128.178.73.3`."""
    parts = text.split(".")
    right = len(parts) == len(branching) and all(re.fullmatch("[0-9]{1,20}", part) for part in parts)
    if not right or any(int(part) >= radix for part, radix in zip(parts, branching)):
        raise Misuse(f"{text[:80]!r} is no address of this hierarchy: write digits like {shape_of(branching)}")
    return tuple(map(int, parts))


def shape_of(branching: Sequence[int]) -> str:
    """What addresses look like, for those who must write one."""
    return ".".join(f"0–{radix - 1}" for radix in branching)


def written(address: Sequence[int]) -> str:
    return ".".join(map(str, address))


def of_endpoint(endpoint: str, branching: Sequence[int], first_port: int = 0) -> Address:
    """The address of `IP:port`, cut into digits. Digits beyond 2^32 places count ports, from `first_port` on; without
    any, the port is left out and a host is one participant."""
    host, _, port = endpoint.rpartition(":")
    places = math.prod(branching)
    if places % IP_ADDRESSES:
        raise Misuse(
            f"write digits like {shape_of(branching)}; none can be told from {endpoint!r}, since branching has "
            f"{places:,} addresses, not 2^32 or a multiple"
        )
    try:
        ip, number = int(IPv4Address(host)), int(port) - first_port
    except ValueError:
        raise Misuse(
            f"write digits like {shape_of(branching)}; none can be told from {endpoint!r}, only from IPv4 and a port, "
            "like 192.0.2.7:4000"
        ) from None
    ports = places // IP_ADDRESSES
    if ports > 1 and not 0 <= number < ports:
        raise Misuse(f"the port of {endpoint!r} has no digits: use {first_port} to {first_port + ports - 1}")
    return address_of(ip * ports + (number if ports > 1 else 0), branching)


def branch(address: Address, level: int) -> Address:
    """The branch address of a level: x(l-1) … x(level); of the topmost level nothing is left."""
    return address[: len(address) - level]


def distance(one: Address, other: Address) -> int:
    """The level of the longest branch two addresses share; 0: they are the same."""
    return next((level for level in range(len(one)) if branch(one, level) == branch(other, level)), len(one))


def delegates(members: Sequence[Address], redundancy: int) -> list[Address]:
    """Who stands for a subsystem: the R smallest addresses, all of them where there are fewer."""
    return sorted(members)[:redundancy]


def subsystems(members: Sequence[Address], of: Address, level: int) -> Iterator[tuple[Address, list[Address]]]:
    """The populated subsystems right below a branch address of this level, each with its members, in order."""
    found: dict[Address, list[Address]] = {}
    for address in sorted(members):
        if branch(address, level) == of:
            found.setdefault(branch(address, level - 1), []).append(address)
    yield from found.items()


def view(members: Sequence[Address], of: Address, level: int, redundancy: int) -> list[tuple[Address, list[Address]]]:
    """The lines somebody below this branch address has on a level: a subsystem, and who stands for it. On level 1 each
    participant stands for itself."""
    return [(below, delegates(them, redundancy)) for below, them in subsystems(members, of, level)]


def of_node(logical: str, endpoint: str, branching: Sequence[int], first_port: int = 0) -> Address:
    """Where a live node lives: at the logical address it was given, or else where its endpoint says."""
    return read(logical, branching) if logical else of_endpoint(endpoint, branching, first_port)
