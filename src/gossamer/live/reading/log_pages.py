"""Pages of the log for those who keep their place themselves: asked again, a page is the same.

Nothing is handed out here and nothing acknowledged. What holds the log is a durable subscription, which such a reader
moves on by `acknowledge_through`.
"""

from typing import TYPE_CHECKING, NamedTuple

from gossamer.core.errors import Misuse
from gossamer.core.topics import Topic
from gossamer.live.reading.deliveries import LogPage
from gossamer.live.reading.durable import PAGE, READ_BYTES
from gossamer.live.reading.durables import Durables, no_subscription
from gossamer.live.reading.feed import opened

if TYPE_CHECKING:
    from gossamer.core.filters import Filter

ITEMS_MAX = 1_000
BYTES = 1 << 20
"Events in a page, and what they may come to (one may be larger)."


class Asked(NamedTuple):
    """Which piece."""

    topic: Topic
    filter: "Filter | None"
    after: int
    until: int = 0
    "The last place of interest; 0: as far as the log is committed."
    items: int = ITEMS_MAX
    "How many at most; 0: only how far the log is committed."


async def log_page(durables: Durables, asked: Asked) -> LogPage:
    settled = durables.log.settled()
    until = min(asked.until or settled, settled)
    if not asked.items or asked.after >= until:
        return LogPage([], max(asked.after, until) if asked.items else asked.after, 0, settled)
    subtrees = (asked.topic, *durables.hierarchy.joined_below(asked.topic))
    found = await durables.spool.read(asked.after, subtrees, min(asked.items, ITEMS_MAX), BYTES)
    items, unreadable = opened([each for each in found.items if each.place <= until])
    wanted = [each for each in items if asked.filter is None or asked.filter.wants(each)]
    gone = [each for each in found.lost if each.first <= until]
    lost = sum(max(1, each.events) for each in gone) + sum(each.lost for each in unreadable)
    return LogPage(wanted, min(found.examined, until), lost, settled)


async def acknowledge_through(durables: Durables, owner: str, name: str, place: int) -> None:
    """Everything of a durable subscription up to a place is handled, which is on disk when this returns."""
    feed = durables.feeds.get((owner, name))
    if feed is None:
        raise no_subscription(name, owner)
    if place > durables.log.settled():
        raise Misuse(f"the log has no place {place} yet: acknowledge what was read of it")
    feed.check_unread()
    while (examined := feed.sub.position.examined) < place:
        found, _ = await feed.store.read(feed.row.key, examined, feed.row.subtrees, PAGE, READ_BYTES)
        items, _ = opened([each for each in found.items if each.place <= place])
        await feed.handle(items, examined, min(found.examined, place))
