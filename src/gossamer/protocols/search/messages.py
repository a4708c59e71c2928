"""How contacts are asked for."""

from typing import TypeAlias

from msgspec import Struct

from gossamer.core.ids import Peer
from gossamer.core.topics import Topic


class ReqContact(Struct, frozen=True, tag="search.req_contact"):
    """`origin` looks for members of any of these topics, the first the dearest."""

    origin: Peer
    nonce: int
    wanted: tuple[Topic, ...]
    ttl: int


class AnsContact(Struct, frozen=True, tag="search.ans_contact"):
    """These are members of `topic`."""

    topic: Topic
    peers: tuple[Peer, ...]


Message: TypeAlias = ReqContact | AnsContact
