"""Nodes to begin with: a name of several addresses is several seeds; one that is silent is called until it answers."""

import asyncio
import logging
import socket
from typing import Any

import pytest

from gossamer.core.errors import TransportDown
from gossamer.live.clients.guest import wait_until_taken
from gossamer.live.config.config import Config, load
from gossamer.live.config.tables import Timeouts
from gossamer.live.links import seeds
from gossamer.live.links.seeds import resolve
from gossamer.live.links.transports import Answer, Channel
from gossamer.live.links.transports.memory import Memory, MemoryNetwork
from gossamer.live.node import Node
from gossamer.testing import QUICK, Network
from live.watching import until

NAME = "seeds.example.org"
NOBODY = "memory:nobody"


def names(monkeypatch: pytest.MonkeyPatch, known: dict[str, list[tuple[str, int]]]) -> None:
    """What a name server says, though it says more of ports than they do; other names are asked for as ever."""
    ask = socket.getaddrinfo

    def answer(host: Any, *rest: Any, **more: Any) -> Any:
        if host not in known:
            return ask(host, *rest, **more)
        if not known[host]:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        families = {False: socket.AF_INET, True: socket.AF_INET6}
        return [(families[":" in where], socket.SOCK_STREAM, 6, "", (where, port)) for where, port in known[host]]

    monkeypatch.setattr(socket, "getaddrinfo", answer)


# Names


def test_a_name_stands_for_all_its_addresses_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    names(monkeypatch, {NAME: [("192.0.2.1", 7400), ("2001:db8::1", 7400), ("192.0.2.1", 7400)]})
    assert asyncio.run(resolve(f"{NAME}:7400")) == ["192.0.2.1:7400", "[2001:db8::1]:7400"]


def test_what_nobody_can_look_up_is_called_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    names(monkeypatch, {NAME: []})
    assert asyncio.run(resolve(f"{NAME}:7400")) == [f"{NAME}:7400"]
    assert asyncio.run(resolve("memory:1")) == ["memory:1"]


def test_a_node_links_to_every_address_of_a_seed_s_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def node(name: str, *seeds: str) -> Node:
        return Node(Config(name=name, bind="127.0.0.1:0", seeds=seeds, timeouts=Timeouts(leave_s=0.3)))

    async def scenario() -> None:
        async with node("a") as a, node("b") as b:
            ports = [int(each.address.rpartition(":")[2]) for each in (a, b)]
            names(monkeypatch, {"localhost": [("127.0.0.1", port) for port in ports]})
            async with node("c", "localhost:7400") as c:
                await until(lambda: set(c.station.seeds.peers) == {a.address, b.address})
                assert {link.name for link in c.station.connections.links} == {"a", "b"}

    asyncio.run(scenario())


# Silence


class Swallowing(Memory):
    """The way to one address swallows what is sent there, as a firewall does or a machine that is off."""

    swallows = True

    async def dial(self, address: str, answer: Answer) -> Channel:
        if address == NOBODY and self.swallows:
            await asyncio.Event().wait()
        return await super().dial(address, answer)


def behind_a_firewall(network: MemoryNetwork) -> Node:
    given = {
        "name": "alone",
        "bind": "memory:0",
        "seeds": (NOBODY,),
        "scamp": QUICK,
        "timeouts": {"dial_s": 0.01, "leave_s": 0.1},
    }
    return Node(load(environ={}, overrides=given), transport=lambda trust, handshake_s: Swallowing(network))


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.name == "gossamer.seeds"]


def test_a_seed_that_is_silent_is_said_to_be_silent_once_and_called_until_it_answers(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(seeds, "AGAIN_S", 0.01)

    async def scenario() -> None:
        async with Network() as network, behind_a_firewall(network.memory) as node:
            await until(lambda: node.metrics.dial_failures >= 2)
            assert warnings(caplog) == [
                f"the seed {NOBODY} cannot be reached: no answer within 0.01 s; it is called again until it answers"
            ]
            seed = await network.node("seed", bind=NOBODY)
            transport = node.station.transport
            assert isinstance(transport, Swallowing)
            transport.swallows = False
            await until(lambda: node.station.seeds.peers == {NOBODY: seed.station.me})
            assert len(warnings(caplog)) == 1

    with caplog.at_level(logging.WARNING, "gossamer.seeds"):
        asyncio.run(scenario())


def test_a_seed_that_refuses_calls_is_said_to_be_out_of_reach(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with Network() as network:
            await network.node("a", seeds=[NOBODY])
            assert warnings(caplog) == [
                f"the seed {NOBODY} cannot be reached: nobody listens there; it is called again until it answers"
            ]

    with caplog.at_level(logging.WARNING, "gossamer.seeds"):
        asyncio.run(scenario())


class Mute:
    """Takes calls and says nothing."""

    def __init__(self, channel: Channel) -> None: ...

    def heard(self, data: bytes) -> None: ...

    def drained(self) -> None: ...

    def lost(self, why: str) -> None: ...


def test_a_seed_that_takes_calls_and_says_nothing_is_said_not_to_have_greeted(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with Network() as network:
            network.memory.listening[NOBODY] = Mute
            await network.node("a", seeds=[NOBODY], timeouts={"dial_s": 0.01})
            assert warnings(caplog) == [
                f"the seed {NOBODY} answered, but did not greet us in time; it is called again until it answers"
            ]

    with caplog.at_level(logging.WARNING, "gossamer.seeds"):
        asyncio.run(scenario())


def test_a_guest_of_a_silent_seed_is_told_that_none_answers() -> None:
    async def scenario() -> None:
        async with behind_a_firewall(MemoryNetwork()) as guest:
            await guest.publish(".x", b"lost on the way")
            with pytest.raises(
                TransportDown, match=rf"none of the seeds answers \({NOBODY}\): start one, or name others"
            ):
                await wait_until_taken(guest, ".x", 0.1, hopefully=True)

    asyncio.run(scenario())
