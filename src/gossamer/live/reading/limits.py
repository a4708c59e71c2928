"""What one reader may hold, and how long a durable subscription waits."""

from msgspec import Struct

from gossamer.live.config.config import Config


class ReadingLimits(Struct, frozen=True):
    """As the configuration says."""

    items_max: int = 10_000
    bytes_max: int = 64 << 20
    patience_s: float = 30.0
    "A reader of a durable subscription that acknowledges nothing for so long loses what it has."
    forget_s: float = 30 * 86400.0
    "A durable subscription that nobody reads for so long is forgotten."


def reading_limits(config: Config) -> ReadingLimits:
    limits = config.limits
    return ReadingLimits(limits.inbox_items, limits.inbox_bytes, config.timeouts.handle_s, config.spool.forget_s)
