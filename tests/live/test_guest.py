"""A guest's settings: those of the node that might have run there, but for what only a resident has."""

import socket
from pathlib import Path

import pytest

from gossamer.core.errors import TransportDown
from gossamer.live.clients.guest import guest_config, outward
from gossamer.live.config.config import Config
from gossamer.live.config.tables import SpoolConfig, TraceConfig
from gossamer.live.keys.network import Network


def test_without_anybody_to_begin_with_there_is_no_guest() -> None:
    assert guest_config(None, None, "default", ()) is None
    assert guest_config(Config(name="n"), None, "default", ()) is None


def test_a_guest_keeps_what_concerns_the_network_and_nothing_that_concerns_the_node() -> None:
    resident = Config(
        name="n",
        keys=Path("keys"),
        bind="0.0.0.0:7400",
        advertise=("n.example.org:7400", "[2001:db8::1]:7400"),
        seeds=("seed.example.org:7400",),
        subscribe=(".a",),
        spool=SpoolConfig(folder=Path("spool")),
        trace=TraceConfig(folder=Path("traces")),
    )
    guest = guest_config(resident, Path("keys"), "default", ())
    assert guest is not None
    assert (guest.name, guest.bind, guest.seeds) == ("", "0.0.0.0:0", resident.seeds)
    assert guest.advertise == ("n.example.org:0", "[2001:db8::1]:0")
    assert guest.advertised("0.0.0.0:5000") == ("n.example.org:5000", "[2001:db8::1]:5000")
    assert (guest.subscribe, guest.spool.folder, guest.trace.folder) == ((), None, None)
    assert guest.camcast == resident.camcast


def test_seeds_named_for_once_win_over_those_of_the_settings() -> None:
    guest = guest_config(Config(name="n", seeds=("127.0.0.1:1",)), None, "default", ["127.0.0.1:2"])
    assert guest is not None
    assert guest.seeds == ("127.0.0.1:2",)


def test_two_guests_without_keys_have_two_names() -> None:
    guests = [guest_config(None, None, "default", ["127.0.0.1:2"]) for _ in range(2)]
    assert len({guest.name for guest in guests if guest}) == 2


def test_a_guest_says_where_it_is_by_the_way_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    assert outward("127.0.0.1:7400") == "127.0.0.1"

    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror("unknown")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(TransportDown, match=r"the seed nowhere\.example:7400 cannot be reached: unknown"):
        outward("nowhere.example:7400")


def test_a_guest_of_a_hierarchy_lives_where_its_node_would_have() -> None:
    own = Config(name="n", spread="hpmcast", bind="127.0.0.1:7411", seeds=("127.0.0.1:7400",))
    guest = guest_config(own, None, "default", ())
    assert guest is not None
    assert (guest.bind, guest.design.address) == ("127.0.0.1:0", (127, 0, 0, 1, 7411))


def test_a_guest_of_a_hierarchy_lives_where_its_grant_says(tmp_path: Path) -> None:
    net = Network.init(tmp_path / "net")
    net.grant("n", [".a"], ["."], address="127.0.0.1.9")
    net.grant("m", [".a"], ["."])
    for name, address in (("n", ""), ("m", "127.0.0.1.7411")):
        own = Config(keys=net.folder_of(name), spread="hpmcast", bind="127.0.0.1:7411", seeds=("127.0.0.1:7400",))
        guest = guest_config(own, own.keys, "default", ())
        assert guest is not None
        assert (guest.bind, guest.hpmcast.address) == ("127.0.0.1:0", address)
    assert guest_config(own, net.folder_of("n"), "default", ()).design_at((127, 0, 0, 1, 9)).address[-1] == 9  # type: ignore[union-attr]
