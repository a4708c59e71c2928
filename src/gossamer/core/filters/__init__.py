"""Content filters: what a subscriber wants of a topic's events, in a small language one can reason about."""

from gossamer.core.filters.building import F
from gossamer.core.filters.filter import EVERYTHING, Filter, condense, parse
from gossamer.core.filters.index import Index

__all__ = ["EVERYTHING", "F", "Filter", "Index", "condense", "parse"]
