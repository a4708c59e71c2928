"""A world whose machines keep their promises: what a town watches of any design, for worlds that are no towns."""

from gossamer.sim.checkers import Promises
from gossamer.sim.timers import Timers
from gossamer.sim.world import Watcher, World


def checked(world: World, *watchers: Watcher) -> World:
    """The same world, watched by checkers, and by these."""
    world.watch(*watchers, Timers(world), Promises(world))
    return world
