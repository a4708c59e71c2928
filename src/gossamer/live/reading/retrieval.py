"""Events that a peer misses and that left the machine's cache: they are looked for in the spool."""

import asyncio
import logging

from gossamer.core.errors import GossamerError
from gossamer.core.machine import Fetch, Fetched
from gossamer.live.arriving.bodies import Bodies
from gossamer.live.running.driver import Driver
from gossamer.live.spool import Spool
from gossamer.wire.sealed import unseal

log = logging.getLogger("gossamer.recovery")

AT_ONCE = 64
"Searches under way; further ones are left out, and asked for again."


class Retrieval:
    """From `Fetch` to `Fetched`."""

    def __init__(self, driver: Driver, bodies: Bodies, spool: Spool | None) -> None:
        self.driver, self.bodies, self.spool = driver, bodies, spool
        self.searches: set[asyncio.Task[None]] = set()

    def fetch(self, wanted: Fetch) -> None:
        if self.spool is not None and len(self.searches) < AT_ONCE:
            search = self.driver.loop.create_task(self._search(self.spool, wanted))
            self.searches.add(search)
            search.add_done_callback(self.searches.discard)

    async def _search(self, spool: Spool, wanted: Fetch) -> None:
        try:
            found = await spool.find(wanted.events)
        except GossamerError as wrong:
            log.debug("the spool could not be asked for lost events: %s", wrong)
            return
        for event_id, sealed in found.items():
            if sealed:
                event, leaf, _ = unseal(sealed)
                if self.bodies.get(event_id) is None:
                    self.bodies.add(event_id, leaf, sealed)
                self.driver.feed(Fetched(wanted.peer, (event,)))  # at once: its bytes may give way to the next one's
