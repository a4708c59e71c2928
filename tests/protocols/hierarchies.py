"""Settings for tests that compare engines, protocols and formulas: communities, the network between them, faults."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from gossamer.core.setting import Community, Faults, Setting
from gossamer.core.topics import Hierarchy, Topic

NO_FAULTS = Faults()


class Shape(Struct, frozen=True):
    """Communities by topic, upper ones first, and the parents that names do not tell."""

    sizes: dict[Topic, int]
    further: dict[Topic, tuple[Topic, ...]] = {}


SMALL: Mapping[str, Shape] = {
    "chain of three": Shape({".": 4, ".d": 14, ".d.g": 33}),
    "chain of four": Shape({".": 3, ".d": 6, ".d.g": 13, ".d.g.h": 27}),
    "diamond with a bystander": Shape(
        {".": 4, ".x": 8, ".y": 11, ".y.e": 5, ".x.d": 24},
        {".x.d": (".y",)},
    ),
}
"At most 64 processes each: small enough for a machine per process, some hundreds of times."


def chain(*sizes: int) -> Shape:
    """Topics below one another, the root first."""
    return Shape({"." + ".".join("abcdefgh"[:depth]): size for depth, size in enumerate(sizes)})


def setting(
    shape: Shape,
    params: Struct | Sequence[Struct],
    network: float | Sequence[tuple[float, float]] = 1.0,
    faults: Faults = NO_FAULTS,
) -> Setting:
    """A setting of this shape. Several params or (success, success_up) go to the communities in turn."""
    order = Hierarchy(shape.further)
    names = list(shape.sizes)
    chosen: Sequence[Any] = [params] if isinstance(params, Struct) else params
    arriving = [(network, network)] if isinstance(network, float) else network
    communities, start = [], 0
    for index, (topic, size) in enumerate(shape.sizes.items()):
        success, success_up = arriving[index % len(arriving)]
        supers = tuple(names.index(above) for above in order.nearest_populated(topic, names))
        params_here = chosen[index % len(chosen)]
        communities.append(Community(topic, start, size, supers, params_here, success, success_up))
        start += size
    return Setting(tuple(communities), faults, shape.further)
