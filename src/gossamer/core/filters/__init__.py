"""Content filters: what a subscriber wants of a topic's events, in a small language one can reason about."""

from gossamer.core.filters.filter import Filter, parse

__all__ = ["Filter", "parse"]
