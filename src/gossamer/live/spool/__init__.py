"""What survives the process: accepted publications, delivered events, durable subscriptions, in one SQLite file.

One thread owns the file and commits in groups: everything that queued up while it was busy goes into its next
transaction. The asyncio side never waits for it except by awaiting a future.

In: events, positions, records. Out: pages of them, and word of every commit.
"""

from gossamer.live.spool.items import Kept, KeptPack, Lost, Outgoing, Page, Stored, Waiting
from gossamer.live.spool.jobs import Commit
from gossamer.live.spool.spool import Spool
from gossamer.live.spool.streams import Stretch

__all__ = [
    "Commit",
    "Kept",
    "KeptPack",
    "Lost",
    "Outgoing",
    "Page",
    "Spool",
    "Stored",
    "Stretch",
    "Waiting",
]
