"""Publish/subscribe without a broker, where an event only ever touches processes that want it."""

from gossamer.core import errors
from gossamer.core.events import Event
from gossamer.core.topics import Topic

__version__ = "0.1.0"

__all__ = ["Event", "Topic", "__version__", "errors"]
