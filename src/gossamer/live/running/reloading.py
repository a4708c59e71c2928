"""What a running node takes over from a new configuration and from its folder of keys; the rest waits for a restart."""

import logging
import typing
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from gossamer.core.errors import Misuse
from gossamer.core.machine import StopPublishing, Tune
from gossamer.core.topics import ROOT, Topic, topic
from gossamer.live.config.changes import changes
from gossamer.live.config.config import Config, with_parents_of_types
from gossamer.live.config.tables import within_memory
from gossamer.live.keys.trust import OpenTrust
from gossamer.live.node import Node
from gossamer.live.reading.limits import reading_limits
from gossamer.live.running.station import Station
from gossamer.live.watching.pruning import Budget
from gossamer.protocols.hpmcast.addresses import written

log = logging.getLogger("gossamer.node")


def reload_keys(node: Node) -> None:
    """A new key, grant, authority or list of revoked keys. Links stay; calls from now on are made with the new keys."""
    if isinstance(node.trust, OpenTrust):
        return
    from gossamer.live.keys.keyring import Keyring

    keyring, station = typing.cast(Keyring, node.trust), node.station
    before, grant = keyring.revocations()[0], keyring.grant
    try:
        keyring.reload()
    except Misuse as wrong:
        log.error("%s: the keys stay as they were: %s", keyring.name, wrong)
    station.records.check_again()
    if keyring.revocations()[0] > before:
        station.revoking.shut_out(keyring.shut_out())
    if keyring.grant != grant:
        log.info("%s has new keys or a new grant", keyring.name)
        station.renew_record()
        place, config = keyring.grant.address, station.config
        if config.spread == "hpmcast" and place != grant.address and place != station.design.address:
            log.warning(
                "%s is granted to live at %s, and lives at %s until it is started again: others may refuse it",
                keyring.name,
                written(place) or "no address",
                written(station.design.address),
            )
        told = config.upkeep if config.spread == "hpmcast" else config.interests
        station.driver.feed(Tune(ROOT, told))  # what is sealed by an older key is told anew


def take_over(node: Node, new: Config) -> None:
    """Changes what can be changed while the node runs, all of it or (Misuse) nothing."""
    now, later = changes(node.config, with_parents_of_types(new))
    for name in later:
        log.warning(
            "%s: %s is another now, which a node takes over only at its start: restart it", node.trust.name, name
        )
    if not now:
        return
    old, config = node.config, merged(node.config, now)
    for name in config.subscribe:
        node.check_granted("subscribe", topic(name))
    came, gone = exchanged(old, config)
    node.station.readers.subscriptions.check(came, gone)
    node.config = node.station.config = config
    tables = dict.fromkeys(name.partition(".")[0] for name in now)
    for table in tables:
        if (take := TAKERS.get(table)) is not None:
            take(node.station, old, config)
    log.info("%s took over %s", node.trust.name, ", ".join(now))


def merged(old: Config, now: Mapping[str, Any]) -> Config:
    """The configuration that holds once these fields, by dotted name, are changed."""
    whole: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {}
    for name, value in now.items():
        table, _, field = name.partition(".")
        if field:
            parts.setdefault(table, {})[field] = value  # all of a table at once: one alone may make no sense
        else:
            whole[table] = value
    tables = {table: replace(getattr(old, table), **fields) for table, fields in parts.items()}
    return replace(old, **whole, **tables)


def exchanged(old: Config, new: Config) -> tuple[list[Topic], list[Topic]]:
    """Topics that are read from now on, and those that are no longer."""
    before, after = (dict.fromkeys(map(topic, each.subscribe)) for each in (old, new))
    return [name for name in after if name not in before], [name for name in before if name not in after]


def _params(station: Station, old: Config, new: Config) -> None:
    """Communities joined later ask for their parameters then."""
    for name in station.machine.interest.mine():
        station.driver.feed(Tune(name, new.params_of(name)))
        station.driver.feed(Tune(name, new.scamp))


def _overlay(station: Station, old: Config, new: Config) -> None:
    station.driver.feed(Tune(ROOT, new.spidercast))
    station.driver.feed(Tune(ROOT, new.interests))


def _hierarchy(station: Station, old: Config, new: Config) -> None:
    station.driver.feed(Tune(ROOT, new.hpmcast.params))
    if new.upkeep != old.upkeep:
        station.driver.feed(Tune(ROOT, new.upkeep))


def _recovery(station: Station, old: Config, new: Config) -> None:
    subscriptions = station.readers.subscriptions
    for name in dict.fromkeys((ROOT, *station.machine.interest.mine(), *subscriptions.careless)):
        station.driver.feed(Tune(name, subscriptions.recovery_of(name)))


def _subscribe(station: Station, old: Config, new: Config) -> None:
    came, gone = exchanged(old, new)
    for name in gone:  # first: those that come may need the room
        station.readers.subscriptions.remove(name)
    for name in came:
        station.readers.subscriptions.add(name)


def _publish(station: Station, old: Config, new: Config) -> None:
    station.announce(new.publish)
    for name in old.publish:
        if name not in new.publish:
            station.driver.feed(StopPublishing(topic(name)))


def _seeds(station: Station, old: Config, new: Config) -> None:
    station.seeds.change(new.seeds)


def _limits(station: Station, old: Config, new: Config) -> None:
    limits, connections, readers = new.limits, station.connections, station.readers
    connections.links_max = limits.links_max
    connections.outgoing.tune(limits.link_queue_bytes, limits.frame_bytes)
    readers.tune(reading_limits(new))
    station.book.entries_max = limits.records_max
    station.requests.tune(limits.requests_per_s, limits.requests_burst)
    station.publishing.counting.event_bytes_max = limits.event_bytes_max


def _timeouts(station: Station, old: Config, new: Config) -> None:
    connections, timeouts = station.connections, new.timeouts
    station.transport.handshake_s = timeouts.handshake_s
    station.handover.again_s = timeouts.ack_s
    station.readers.tune(reading_limits(new))
    connections.handshake_s = timeouts.handshake_s
    connections.dial_s, connections.idle_s = timeouts.dial_s, timeouts.idle_s


def _spool(station: Station, old: Config, new: Config) -> None:
    station.handover.forget_after_s, station.handover.copies = new.spool.keep_s, new.spool.copies
    station.publishing.outbox_bytes = within_memory(new.spool, new.spool.outbox_bytes)
    station.publishing.outbox_full = new.spool.outbox_full
    if station.spool is not None:
        station.spool.tune(new.spool.keep_s, new.spool.keep_bytes, new.spool.durable_bytes)
    station.readers.tune(reading_limits(new))


def _trace(station: Station, old: Config, new: Config) -> None:
    if station.recorder is not None:
        station.recorder.writer.budget = Budget(new.trace.keep_s, new.trace.keep_bytes)
    station.keep_trace(new.trace.level)


TAKERS = {
    "camcast": _params,
    "topics": _params,
    "scamp": _params,
    "spidercast": _overlay,
    "interests": _overlay,
    "hpmcast": _hierarchy,
    "upkeep": _hierarchy,
    "recovery": _recovery,
    "recovery_topics": _recovery,
    "subscribe": _subscribe,
    "publish": _publish,
    "seeds": _seeds,
    "limits": _limits,
    "timeouts": _timeouts,
    "spool": _spool,
    "trace": _trace,
}
