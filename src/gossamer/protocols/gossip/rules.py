"""How plain gossip arranges processes. Positions count through the audience; clusters take turns along it."""

from typing import Any


def cluster_size(audience: Any, clusters: Any, cluster: Any) -> Any:
    """Members of one cluster when position p is in cluster p mod C."""
    return (audience - cluster + clusters - 1) // clusters
