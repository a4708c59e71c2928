"""What survives the process: accepted publications, delivered events, readers' cursors, in one SQLite file.

One thread owns the file and commits in groups: everything that queued up while it was busy goes into its next
transaction. The asyncio side never waits for it except by awaiting a future.
"""

from gossamer.live.spool.items import Cursor, Kept, KeptPack, Lost, Outgoing, Page, Stored, Waiting
from gossamer.live.spool.spool import Spool

__all__ = ["Cursor", "Kept", "KeptPack", "Lost", "Outgoing", "Page", "Spool", "Stored", "Waiting"]
