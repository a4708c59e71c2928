"""What a client may ask about durable subscriptions: its own, and all of them if it runs the node."""

from typing import TYPE_CHECKING, TypeAlias

from gossamer.core.errors import Misuse
from gossamer.live.links.control import Delete, Handled, ListThem, Mark, Reply, Through
from gossamer.live.reading.durable_inbox import DurableInbox
from gossamer.live.reading.durables import no_subscription
from gossamer.live.reading.inbox import Inbox

if TYPE_CHECKING:
    from gossamer.live.node import Node

LOCAL = "local"
"Whose the subscriptions of all clients are that come without keys, from the same machine."

SubscriptionRequest: TypeAlias = Handled | Mark | ListThem | Delete | Through


async def answered(node: "Node", owner: str, request: SubscriptionRequest, inbox: Inbox | DurableInbox | None) -> Reply:
    match request:
        case Handled(number, _, places):
            await reader(inbox).ack_places(places)
            return Reply(number)
        case Mark(number):
            return Reply(number, bookmark=await reader(inbox).bookmark())
        case Through(number, name, place):
            await node.acknowledge_through(owner, name, place)
            return Reply(number)
        case ListThem(number):
            found = [each for each in await node.subscriptions() if each.owner == owner or runs(node, owner)]
            return Reply(number, subscriptions=tuple(found))
        case Delete(number, name, whose):
            whose = whose or await owner_of(node, owner, name)
            if whose != owner and not runs(node, owner):
                raise no_subscription(name, f"{whose} that {owner} could see")  # nor need it know of others'
            await node.delete_subscription(name, owner=whose)
            return Reply(number)


def reader(inbox: Inbox | DurableInbox | None) -> DurableInbox:
    if not isinstance(inbox, DurableInbox):
        raise Misuse("only an open named subscription remembers what was acknowledged: subscribe with name=…")
    return inbox


def runs(node: "Node", owner: str) -> bool:
    """Whether a client is the node's own operator: it has the node's keys, or nobody has any."""
    return owner == (node.trust.name if node.trust.contexts() is not None else LOCAL)


async def owner_of(node: "Node", owner: str, name: str) -> str:
    """Whose subscription is meant: one's own, or the only one of that name if one may see it."""
    found = [each.owner for each in await node.subscriptions() if each.name == name]
    if owner in found or not runs(node, owner) or not found:
        return owner
    if len(found) > 1:
        raise Misuse(f"{name!r} is a subscription of {', '.join(found)}: say whose with --owner, or owner=…")
    return found[0]
