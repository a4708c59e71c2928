"""How a node fares, in one word: what `/healthz` says, and `Node.health()` to the program a node lives in."""

import os
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from gossamer.live.node import Node


class Health(Struct, frozen=True):
    """Whether the node does its work, in one word, and some numbers beside it."""

    status: str
    "`ok`, or what it is doing instead: `joining`, `leaving`, `failing`; then `why` says in a sentence what fails."
    about: dict[str, Any] = {}

    @property
    def ok(self) -> bool:
        return self.status == "ok"


def health_of(node: "Node") -> Health:
    if node.state != "up":
        return Health("joining" if node.state in ("new", "starting") else "leaving")
    if why := trouble(node):
        return Health("failing", {"why": why, "name": node.trust.name, "address": node.address})
    machine = node.station.machine
    topics, members, links = machine.interest.mine(), machine.members, machine.links
    assert members is not None, "a live node has members"
    joining = [topic for topic in topics if not members.ready(topic)]
    about = {
        "name": node.trust.name,
        "address": node.address,
        "links": node.metrics.links,
        "topics": len(topics),
        "members": sum(len(members.about(topic)) for topic in topics),
        "counted": sum(members.size(topic) for topic in topics),
        "above": sum(len(table) for topic in topics for table in (links.tables(topic) if links else ())),
    }
    return Health("joining" if joining else "ok", about)


def trouble(node: "Node") -> str:
    """What keeps a node from its work though it runs, in one sentence; nothing, if nothing does."""
    spool = node.station.spool
    if spool is not None and spool.trouble is not None:
        return str(spool.trouble)
    return lack_of_files() or node.failures.told()


def lack_of_files() -> str:
    """Whether the process can open anything more, be it a file or a call: nothing but trying tells."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as wrong:
        return f"no file descriptor is left, so no call can be taken ({wrong.strerror}): raise the limit of open files"
    return ""
