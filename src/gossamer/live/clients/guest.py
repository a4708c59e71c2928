"""A guest: a node for a moment, where no daemon runs. It hands its events to members, joins nothing, keeps nothing.

With keys it has their name, so their own node must not be running; without, a name of its own.
"""

import secrets
import socket
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from gossamer.core.errors import TransportDown
from gossamer.core.topics import Topic
from gossamer.live.config.config import Config
from gossamer.live.config.place import HpmcastConfig
from gossamer.live.config.tables import MetricsConfig, SpoolConfig, TraceConfig
from gossamer.live.keys.trust import is_loopback, split_address
from gossamer.live.links.transports.tcp import spell_address
from gossamer.live.node import Node
from gossamer.live.publishing.parcel import HandedOver
from gossamer.protocols.hpmcast.addresses import Address, written

LEAVE_S = 1.0


def guest_config(config: Config | None, keys: Path | None, network: str, seeds: Sequence[str]) -> Config | None:
    """Settings of a guest, after those of the node that might have run here; None: there is nobody to begin with."""
    seeds = tuple(seeds) or (config.seeds if config else ())
    if not seeds:
        return None
    own = config or Config(name="guest")
    if config is None and not all(map(is_loopback, seeds)):
        bind = f"{outward(seeds[0])}:0"
    else:
        bind = f"{own.bind.rpartition(':')[0]}:0"
    return replace(
        own,
        name="" if keys else f"guest-{secrets.token_hex(8)}",
        network=network,
        bind=bind,
        advertise=tuple(f"{each.rpartition(':')[0]}:0" for each in own.advertise),
        seeds=seeds,
        keys=keys,
        subscribe=(),
        publish=(),
        spool=SpoolConfig(copies=own.spool.copies),
        trace=TraceConfig(),
        metrics=MetricsConfig(bind="off"),
        hpmcast=place(own, keys),
        timeouts=replace(own.timeouts, leave_s=LEAVE_S),
    )


def place(own: Config, keys: Path | None) -> HpmcastConfig:
    """Where its node would have lived, though a guest has another port."""
    if own.spread != "hpmcast" or (keys is not None and granted_at(keys)):
        return own.hpmcast
    return replace(own.hpmcast, address=written(own.design.address))


def granted_at(keys: Path) -> Address:
    from gossamer.live.keys.folder import read_papers  # a guest without keys need not load the cryptography

    return read_papers(keys).grant.address


def outward(seed: str) -> str:
    """This machine's own address on the way to a seed; nothing is sent to find it out."""
    host, port = split_address(seed)
    try:
        family, kind, _, _, there = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as probe:
            probe.connect(there)
            here = probe.getsockname()[0]
    except OSError as wrong:
        raise TransportDown(f"the seed {seed} cannot be reached: {wrong}") from wrong
    return spell_address(here, 0).rpartition(":")[0]


async def wait_until_taken(node: Node, topic: Topic, patience_s: float, hopefully: bool = True) -> HandedOver:
    """Until enough members have every event; TransportDown says why not. `hopefully`: only while somebody is there who
    may take them."""
    done = await node.station.publishing.handed_over(patience_s, hopefully=hopefully)
    if done:
        return done
    station = node.station
    seeds = station.seeds
    if not seeds.peers and seeds.refusals:
        refusal = next(iter(seeds.refusals.values()))
        raise TransportDown(f"the seed {refusal}: give the settings of a node of its network with --config")
    if not seeds.peers:
        raise TransportDown(f"none of the seeds answers ({', '.join(node.config.seeds)}): start one, or name others")
    waiting = station.handover.unacked.values()
    if not any(each.is_hopeful() for each in waiting):
        raise TransportDown(f"nobody takes part in {topic} yet, so nobody could take the event: subscribe first")
    events = "1 event" if len(waiting) == 1 else f"{len(waiting)} events"
    raise TransportDown(f"{events} did not reach enough members of {topic} within {patience_s:g} s")
