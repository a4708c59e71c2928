"""Rows that trials leave behind. Arrow and Spark schemas are derived from these structs.

Every kind of row begins by saying which trial it is of and ends with how to see that trial again; a trial that could
not be run is one row with its error and without a group."""

from msgspec import Struct


class Outcome(Struct, frozen=True):
    """What one event of one trial did in one community: the rows of a study of communities."""

    trial: str
    point: str
    run: int
    seed: int
    event: int
    group: str | None
    home: bool
    "Whether the event was published here."
    climbs: bool
    "Whether this community has somebody above it."
    size: int
    live: int
    reached: int
    sent_intra: int
    sent_up: int
    arrived: int | None
    arrived_up: int
    parasites: int
    rounds_last: int | None
    memory: float
    load_spread: float | None
    "In a world: how many times its even part of the copies from below the busiest process got, over the whole run."
    version: str
    command: str
    error: str | None = None
    climb: float | None = None
    "With which chance it was carried upwards, where the events of one run differ in that."


class Measure(Struct, frozen=True):
    """One number of one trial: the rows of every other study. What does not apply to a trial has no row."""

    trial: str
    point: str
    run: int
    seed: int
    group: str | None
    metric: str
    value: float
    version: str
    command: str
    error: str | None = None
