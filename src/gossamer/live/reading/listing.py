"""Durable subscriptions as they are listed."""

from typing import Annotated

from msgspec import Meta, Struct

from gossamer.core.ids import Count
from gossamer.core.patterns import Where
from gossamer.core.topics import Topic


class SubscriptionInfo(Struct, frozen=True):
    """One of them."""

    name: Annotated[str, Meta(max_length=128)]
    owner: Annotated[str, Meta(max_length=256)]
    "The name in the certificate of whoever opened it; `local`: a client on the same machine, without keys."
    topic: Topic
    filter: Where
    position: Count
    "Everything up to this place of the node's log is acknowledged, or not wanted."
    behind: Count
    "About how many events wait to be acknowledged; after a restart also those its filter would pass over."
    readers: Count
    since_us: Count
    "When it began; 0: with the first event the log had."
    used_us: Count
    "When somebody last opened it, acknowledged or left."
    ordered: bool = False
    lost: Count = 0
    "Events it needed, and the spool had no room for: it was told of so many."
