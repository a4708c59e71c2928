"""How contacts are asked for.

Requests travel past strangers, so topics stand in them as the network spells them: as they are, or as keyed hashes.
"""

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from gossamer.core.ids import Peer
from gossamer.core.topics import NAME_BYTES_MAX

WANTED_MAX = 128
"Topics in one request: no name has more segments."
PEERS_MAX = 64
"Contacts in one answer."
TTL_MAX = 255

Spelled: TypeAlias = Annotated[str, Meta(max_length=NAME_BYTES_MAX)]


class ReqContact(Struct, frozen=True, tag="search.req_contact"):
    """`origin` looks for members of any of these topics, the first the dearest."""

    origin: Peer
    nonce: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    wanted: Annotated[tuple[Spelled, ...], Meta(max_length=WANTED_MAX)]
    ttl: Annotated[int, Meta(ge=0, le=TTL_MAX)]


class AnsContact(Struct, frozen=True, tag="search.ans_contact"):
    """These are members of `topic`."""

    topic: Spelled
    peers: Annotated[tuple[Peer, ...], Meta(max_length=PEERS_MAX)]


Message: TypeAlias = ReqContact | AnsContact

MEMBERS_ONLY: tuple[type[Struct], ...] = ()
"Everybody helps in the search, whatever it may read."
