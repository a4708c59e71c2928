"""The systems that are compared, and what each needs. A file here is imported only if what it needs is there."""

import importlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from importlib.util import find_spec

from msgspec import Struct

from benchmarks.live.systems.system import System

SBIN = os.pathsep.join(("/usr/sbin", "/usr/local/sbin"))
"Where brokers are installed, which is not on everybody's path."


class Entry(Struct, frozen=True):
    where: str
    "Module and class."
    what: str
    modules: dict[str, str] = {}
    "Modules it imports, and the packages that bring them."
    program: str = ""
    "The broker."
    asks_version: str = "--version"


GOSSAMER = "gossamer"
"As one would run it: TLS, signatures, spool, recovery."
TRACED = "gossamer-traced"
UNSPOOLED = "gossamer-unspooled"
PLAIN = "gossamer-plain"
OPEN = "gossamer-open"

SYSTEMS = {
    GOSSAMER: Entry("with_gossamer:Gossamer", "TLS, signed, spooled, recovery", {"gossamer.live.node": "gossamer"}),
    TRACED: Entry("with_gossamer:Traced", "the same, with traces of deliveries", {"gossamer.live.node": "gossamer"}),
    UNSPOOLED: Entry("with_gossamer:Unspooled", "TLS, signed, recovery, no spool", {"gossamer.live.node": "gossamer"}),
    PLAIN: Entry("with_gossamer:Plain", "TLS, signed; no spool, no recovery", {"gossamer.live.node": "gossamer"}),
    OPEN: Entry("with_gossamer:Open", "no keys, spool or recovery: loopback only", {"gossamer.live.node": "gossamer"}),
    "zenoh": Entry("with_zenoh:Zenoh", "peers, plain TCP, congestion BLOCK", {"zenoh": "eclipse-zenoh"}),
    "nats": Entry("with_nats:Nats", "nats-py on uvloop, plain TCP", {"nats": "nats-py"}, "nats-server"),
    "zmq": Entry("with_zmq:Zmq", "pyzmq PUB/SUB, plain TCP, HWM 0", {"zmq": "pyzmq"}),
    "mqtt": Entry("with_mqtt:Mqtt", "paho, plain TCP, QoS 0", {"paho": "paho-mqtt"}, "mosquitto", "-h"),
    "sockets": Entry("with_sockets:Sockets", "a star of plain TCP sockets, bursts in one write: the floor"),
}


def load(name: str) -> System:
    module, _, made = SYSTEMS[name].where.partition(":")
    system = getattr(importlib.import_module(f"{__name__}.{module}"), made)()
    assert isinstance(system, System)
    return system


def program(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path=SBIN)


def lacking(name: str) -> str:
    """What is not there, or nothing."""
    entry = SYSTEMS[name]
    absent = [package for module, package in entry.modules.items() if not importable(module)]
    if entry.program and not program(entry.program):
        absent.append(entry.program)
    return ", ".join(absent)


def importable(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its package is not there either
        return False


def versions(names: Sequence[str]) -> dict[str, str]:
    return dict(sorted(pair for name in names for pair in versions_of(SYSTEMS[name])))


def versions_of(entry: Entry) -> Iterator[tuple[str, str]]:
    for package in entry.modules.values():
        yield package, version(package)
    if entry.program and (path := program(entry.program)):
        asked = subprocess.run([path, entry.asks_version], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        words = (asked.stdout.splitlines() or [""])[0].split()
        yield entry.program, words[-1].lstrip("v") if words else "?"
