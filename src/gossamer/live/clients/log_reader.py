"""A node's log read by pages, through a client that keeps its place itself."""

from typing import TYPE_CHECKING

from gossamer.live.clients.arguments import filter_of, subscription_name, topic_of
from gossamer.live.clients.client import Client
from gossamer.live.links.control import Look, Looked, Through
from gossamer.live.reading.deliveries import LogPage, read_delivery

if TYPE_CHECKING:
    from gossamer.core.filters import Filter

ITEMS = 1_000


class LogReader:
    """Events of one topic and filter. Nothing is handed out: asked again, a page is the same."""

    def __init__(self, client: Client, topic: str, where: "str | Filter" = "") -> None:
        filter = filter_of(where)
        self.client, self.topic, self.where = client, topic_of(topic), "" if filter is None else filter.text
        client.check_node("subscribe", self.topic)

    async def page(self, after: int, until: int = 0, items: int = ITEMS) -> LogPage:
        """Those after a place and up to another (0: as far as the log is committed), as many as a page has. Read on
        after `examined`."""
        looked = await self._look(after, until, items, counted=False)
        found = [read_delivery(each.sealed, each.place, each.hops, False) for each in looked.items]
        return LogPage(found, looked.examined, looked.lost, looked.settled)

    async def count(self, after: int, until: int = 0, items: int = ITEMS) -> Looked:
        """How many there are in such a page, and up to where it goes."""
        return await self._look(after, until, items, counted=True)

    async def settled(self) -> int:
        """How far the log is committed: what comes later has higher places."""
        return (await self._look(0, 0, 0, counted=True)).settled

    async def acknowledge_through(self, name: str, place: int) -> None:
        """Everything of our durable subscription up to a place is handled. Only while nobody reads it by its name."""
        await self.client.request(Through(self.client.number(), subscription_name(name, least=1), place))

    async def _look(self, after: int, until: int, items: int, counted: bool) -> Looked:
        look = Look(self.client.number(), self.topic, self.where, after, until, items, counted)
        return await self.client.request(look)
