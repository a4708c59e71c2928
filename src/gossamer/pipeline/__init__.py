"""What runs on Spark."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gossamer.pipeline.source import Gossamer

__all__ = ["Gossamer"]


def __getattr__(name: str) -> Any:
    if name == "Gossamer":  # whoever reads nothing of the network need not load its client
        from gossamer.pipeline.source import Gossamer

        return Gossamer
    raise AttributeError(f"module 'gossamer.pipeline' has no attribute {name!r}")
