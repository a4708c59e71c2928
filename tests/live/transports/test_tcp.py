"""TCP: IPv6 as well as IPv4, and names that stand for addresses of both."""

import asyncio
import errno
import socket

import pytest

from gossamer.core.errors import Misuse
from gossamer.live.clients.client import Client
from gossamer.live.config.config import Config
from gossamer.live.config.tables import Timeouts
from gossamer.live.links.link import TAKEN_WITHIN_S
from gossamer.live.links.transports.tcp import SILENT_S, TcpChannel, bound_to
from gossamer.live.node import Node
from live.watching import payloads

FOREIGN, OTHER = (socket.AF_INET, "192.0.2.1"), (socket.AF_INET, "198.51.100.1")
"Addresses for documentation: no machine has them."
OURS = (socket.AF_INET, "127.0.0.1")
OURS_6 = (socket.AF_INET6, "::1")


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


ipv6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")


def names_of(sockets: list[socket.socket]) -> list[tuple[str, int]]:
    found = [(each.getsockname()[0], each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return found


# Nodes on IPv6


@ipv6
def test_nodes_link_and_talk_over_ipv6() -> None:
    def node(name: str, *seeds: str) -> Node:
        return Node(Config(name=name, bind="[::1]:0", seeds=seeds, timeouts=Timeouts(leave_s=0.3)))

    async def scenario() -> None:
        async with node("a") as a, node("b", a.address) as b:
            assert a.address.startswith("[::1]:")
            assert [link.channel.where for link in b.station.connections.links] == [a.address]
            assert [*b.station.seeds.peers] == [a.address]
            async with a.subscribe(".x") as inbox:
                await b.publish(".x", b"by the longer road")
                assert await payloads(inbox, 1) == [b"by the longer road"]

    asyncio.run(scenario())


def test_the_kernel_ends_a_stream_between_nodes_whose_other_end_is_silent_or_takes_nothing() -> None:
    """So that a cut which nobody announces is noticed within seconds."""

    def node(name: str, *seeds: str) -> Node:
        return Node(Config(name=name, bind="127.0.0.1:0", seeds=seeds, timeouts=Timeouts(leave_s=0.3)))

    async def scenario() -> None:
        async with node("a") as a, node("b", a.address) as b, Client(a.address) as client:
            assert client
            taken_ms: dict[str, set[float]] = {"node": set(), "client": set()}
            for link in (*a.station.connections.links, *b.station.connections.links):
                assert isinstance(link.channel, TcpChannel)
                stream = link.channel.transport.get_extra_info("socket")
                assert stream.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
                assert stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == SILENT_S
                taken_ms[link.role].add(stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT))
            assert taken_ms == {"node": {TAKEN_WITHIN_S * 1000}, "client": {0}}, "a client may be slow"

    asyncio.run(scenario())


def test_a_port_that_is_taken_is_told_with_what_to_do() -> None:
    async def scenario() -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            with pytest.raises(Misuse, match=f"{address} is taken by another program: choose another port"):
                await Node(Config(name="a", bind=address)).start()

    asyncio.run(scenario())


# Names of several addresses


@pytest.mark.parametrize("addresses", [[FOREIGN, OURS], [OURS, FOREIGN], [FOREIGN, OURS, OTHER]])
def test_addresses_that_this_machine_lacks_are_left_out(addresses: list[tuple[int, str]]) -> None:
    ((host, port),) = names_of(bound_to(addresses, 0))
    assert (host, port > 0) == ("127.0.0.1", True)


def test_a_family_that_this_machine_lacks_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    create = socket.create_server

    def without_ipv6(address: tuple[str, int], *, family: int, backlog: int) -> socket.socket:
        if family == socket.AF_INET6:
            raise OSError(errno.EAFNOSUPPORT, "Address family not supported by protocol")
        return create(address, family=family, backlog=backlog)

    monkeypatch.setattr(socket, "create_server", without_ipv6)
    assert [host for host, _ in names_of(bound_to([OURS_6, OURS], 0))] == ["127.0.0.1"]


@ipv6
def test_both_families_of_a_name_are_bound_to_one_port() -> None:
    bound = names_of(bound_to([OURS, OURS_6], 0))
    assert [host for host, _ in bound] == ["127.0.0.1", "::1"]
    assert len({port for _, port in bound}) == 1


def test_if_this_machine_has_none_of_them_that_is_an_error() -> None:
    with pytest.raises(OSError, match="assign requested address") as wrong:
        bound_to([FOREIGN, OTHER], 0)
    assert wrong.value.errno == errno.EADDRNOTAVAIL


def test_if_one_cannot_be_bound_none_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    create, made = socket.create_server, list[socket.socket]()

    def noted(address: tuple[str, int], *, family: int, backlog: int) -> socket.socket:
        made.append(create(address, family=family, backlog=backlog))
        return made[-1]

    monkeypatch.setattr(socket, "create_server", noted)
    with pytest.raises(OSError, match="in use"):
        bound_to([OURS, OURS], 0)
    assert [each.fileno() for each in made] == [-1]
