"""What every protocol of the catalogue promises, ours and those that other packages bring."""

import ast
import importlib
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.core.ids import Peer
from gossamer.core.layer import Layer
from gossamer.core.machine import (
    Deliver,
    Effect,
    Fetch,
    Fired,
    Missing,
    Note,
    ReadLog,
    Received,
    Relayed,
    Send,
    SetTimer,
    Started,
    Subscribe,
)
from gossamer.core.setting import Community
from gossamer.core.stack import Stack
from gossamer.core.topics import topic
from gossamer.core.trace import KINDS
from gossamer.protocols import CATALOGUE, Catalogue, Protocol
from gossamer.protocols.camcast.node import camcast_node
from gossamer.protocols.catchup.params import Params as CatchUpParams
from gossamer.protocols.dispatch.node import dispatch_node
from gossamer.protocols.hpmcast.node import hpmcast_node
from gossamer.protocols.recovery.params import Params as RecoveryParams
from gossamer.protocols.spidercast.node import spidercast_node
from gossamer.wire.codec import Codec
from protocols.hierarchies import SMALL, setting
from protocols.saying import ME, PEERS, TOPICS, any_of

EVERY = list(CATALOGUE)
SPREADS = [name for name, protocol in CATALOGUE.items() if protocol.role == "spread"]

# For each protocol, settings that make no sense: one wrong field each, or two that contradict each other.
NONSENSE: dict[str, list[dict[str, Any]]] = {
    "pgrid": [
        {"load_max": 0},
        {"replicas_min": 0},
        {"references": -1},
        {"lease_us": 1},
        {"keep_every_us": 100_000_000},
        {"refresh_max_us": 1},
    ],
    "camcast": [
        {"links": 0},
        {"links": -1},
        {"targets": 0},
        {"targets": 3.5},
        {"links": 2, "targets": 3},
        {"electors": -1},
        {"links_low": -1},
        {"fanout_extra": float("nan")},
        {"electors": float("inf")},
        {"rotation": 1.5},
        {"rotation": -0.1},
        {"keep_every_us": 0},
        {"probe_patience_us": -5},
        {"probes": 0},
        {"search_every_us": 0},
    ],
    "gossip": [{"clusters": 0}, {"clusters": -3}],
    "flood": [
        {"neighbours": 0},
        {"neighbours": -1},
        {"linger_us": 0},
        {"patience_us": 1 << 60},
        {"shortcut": -1},
        {"remembered": 0},
    ],
    "dispatch": [
        {"degree": 1},
        {"patterns_max": 0},
        {"repeat_us": 0},
        {"agree_every_us": 0},
        {"linger_us": 0},
        {"beat_every_us": 0},
        {"silent_beats": 0},
        {"forget_beats": -1},
        {"patience_us": 500_000, "beat_every_us": 500_000},
    ],
    "hpmcast": [
        {"delegates": 0},
        {"fanout": 0},
        {"fanout": 1 << 40},
        {"audience_floor": -1},
        {"direct": -1},
        {"lan": -1},
        {"estimated": True, "direct": 3},
        {"expected_loss": 1.0},
        {"expected_crashed": float("nan")},
        {"hops": -1},
        {"repetitions": -1},
        {"step_us": 0},
    ],
    "scamp": [
        {"extra_copies": -1},
        {"indirection": -1},
        {"forwards_max": 0},
        {"lease_us": 0},
        {"beats_missed": 0},
        {"asks_per_beat": 0},
        {"forwards_max": 1 << 11},
        {"indirection": 1 << 11},
        {"lease_us": 1 << 60},
        {"view_max": 0},
        {"isolated_us": 3_000_000, "beat_every_us": 3_000_000},
        {"epoch_us": 500_000, "size_every_us": 500_000},
    ],
    "interests": [
        *({name: 0} for name in ("view_max", "leaves", "fanout", "renewed", "gossip_every_us", "hurry_every_us")),
        *({name: 0} for name in ("forget_us", "asks", "marks")),
        {"marks": 1000},
        {"view_max": 8, "leaves": 4},
        {"forget_us": 2_000_000, "gossip_every_us": 1_000_000},
        {"forget_us": 1 << 60},
    ],
    "spidercast": [
        {"greedy": -1},
        {"greedy": 1 << 10},
        {"random": -1},
        {"margin": -1},
        {"quarantine": 0},
        {"view": 0},
        {"view": 0.0},
        {"view": 1.5},
        {"adaptive": True, "random": 1},
        {"adaptive": True, "selection": "similarity"},
        {"round_us": 0},
        {"beat_us": 0},
        {"beats_missed": 0},
        {"below_max": 0},
        {"alone_us": 0},
        {"round_us": 2_000_000, "rest_us": 1_000_000},
    ],
    "search": [
        {"neighbours": 0},
        {"ttl": 0},
        {"answers": -1},
        {"acquaintances": 0},
        {"neighbours": 4},
        {"ttl": 5},
        {"answers": 65},
        {"remembered": 0},
    ],
    "recovery": [
        {"forward": 1.1},
        {"forward": float("nan")},
        {"publisher_share": -0.1},
        {"cache": 0},
        {"cache": 1 << 40},
        {"fanout": 0},
        {"interval_us": 0},
        {"expiry_us": -1},
        {"patience_us": -1},
        {"patience_us": 2_000_000, "expiry_us": 1_000_000},
        {"push_every_us": -1},
        {"tail_after_us": 1 << 60},
        {"answers_per_s": -1},
    ],
    "catchup": [
        *({name: 0} for name in ("beat_us", "rest_us", "at_once", "patience_us", "ask", "wait_us", "doubt_us")),
        *({name: 0} for name in ("give_up_us", "witnesses", "answers_per_s", "bytes_per_s")),
        {"ask": 1 << 20},
        {"witnesses": 17},
        {"rest_us": 1 << 60},
    ],
}


def folder(protocol: Protocol) -> Path:
    return Path(str(importlib.import_module(protocol.package).__file__)).parent


# The package


@pytest.mark.parametrize("name", EVERY)
def test_a_protocol_has_params_messages_and_a_layer(name: str) -> None:
    protocol = CATALOGUE[name]
    assert protocol.name == name
    assert protocol.says
    assert "\n" not in protocol.says
    assert issubclass(protocol.params, Struct)
    assert all(issubclass(message, Struct) for message in protocol.messages)
    layers = vars(importlib.import_module(f"{protocol.package}.layer")).values()
    assert any(isinstance(each, type) and issubclass(each, Layer) and each is not Layer for each in layers)


@pytest.mark.parametrize("name", EVERY)
def test_every_module_an_entry_names_is_there(name: str) -> None:
    for module in (CATALOGUE[name].package, CATALOGUE[name].kernel, CATALOGUE[name].theory):
        assert module is None or importlib.import_module(module)


@pytest.mark.parametrize("name", SPREADS)
def test_a_spread_can_be_run_on_machines(name: str) -> None:
    assert callable(CATALOGUE[name].static_node)


@pytest.mark.parametrize("name", [name for name in SPREADS if name not in ("dispatch", "hpmcast")])
def test_a_spread_can_be_run_by_the_fast_engine(name: str) -> None:
    """All but those whose paper's experiments another kernel runs."""
    protocol = CATALOGUE[name]
    assert protocol.kernel is not None
    kernel = importlib.import_module(protocol.kernel)
    assert all(callable(getattr(kernel, part)) for part in ("tables", "picks", "memory", "round_of_block"))


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(
        Misuse, match="there is no protocol 'camcats': choose one of camcast, catchup, dispatch, flood, gossip"
    ):
        CATALOGUE["camcats"]


def test_one_may_ask_whether_a_protocol_is_there() -> None:
    assert "camcast" in CATALOGUE
    assert "camcats" not in CATALOGUE
    assert CATALOGUE.get("camcats") is None


# Params


@pytest.mark.parametrize("name", EVERY)
def test_params_are_frozen_and_given_by_name(name: str) -> None:
    params = CATALOGUE[name].params
    assert params.__struct_config__.frozen
    first = params.__struct_fields__[0]
    with pytest.raises(TypeError):
        params(getattr(params(), first))  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        setattr(params(), first, 1)


def undocumented(tree: ast.Module) -> list[str]:
    """Fields of Params that no text follows."""
    (params,) = (each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == "Params")
    return [
        ast.unparse(field.target)
        for field, after in zip(params.body, [*params.body[1:], None])
        if isinstance(field, ast.AnnAssign)
        and not (
            isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str)
        )
    ]


@pytest.mark.parametrize("name", EVERY)
def test_each_field_of_params_is_followed_by_what_it_means(name: str) -> None:
    assert undocumented(ast.parse((folder(CATALOGUE[name]) / "params.py").read_text())) == []


def test_a_field_without_a_text_would_be_noticed() -> None:
    assert undocumented(ast.parse("class Params:\n  a: int = 1\n  'A.'\n  b: int = 2\n  c: int = 3\n  'C.'")) == ["b"]


@pytest.mark.parametrize("name", EVERY)
def test_presets_are_params_and_every_one_is_named(name: str) -> None:
    protocol = CATALOGUE[name]
    offered = [each for each, value in vars(protocol.params).items() if isinstance(value, classmethod)]
    assert sorted(protocol.presets) == sorted(offered)
    assert all(isinstance(getattr(protocol.params, preset)(), protocol.params) for preset in protocol.presets)


@pytest.mark.parametrize("name", EVERY)
def test_params_pass_through_a_file_unchanged(name: str) -> None:
    params = CATALOGUE[name].params
    for made in (params(), *(getattr(params, preset)() for preset in CATALOGUE[name].presets)):
        assert msgspec.convert(msgspec.to_builtins(made), params) == made


@pytest.mark.parametrize("name", EVERY)
def test_nonsense_is_refused_in_one_sentence_that_names_a_field(name: str) -> None:
    if name not in NONSENSE:
        pytest.fail(f"nothing says which Params of {name!r} make no sense: add some to NONSENSE")
    params = CATALOGUE[name].params
    for wrong in NONSENSE[name]:
        with pytest.raises(Misuse) as refusal:
            params(**wrong)
        said = str(refusal.value)
        assert "\n" not in said
        assert ". " not in said
        assert any(field in said for field in wrong), said
        with pytest.raises(Misuse):  # and from a file, too
            msgspec.convert(wrong, params)


# Messages


@pytest.mark.parametrize("name", EVERY)
def test_tags_start_with_the_protocols_name(name: str) -> None:
    for message in CATALOGUE[name].messages:
        tag = message.__struct_config__.tag
        assert isinstance(tag, str)
        assert tag.startswith(f"{name}.")
        assert tag.removeprefix(f"{name}.").replace("_", "").isalpha()
        assert message.__struct_config__.frozen
        assert message.__doc__


def test_tags_are_unique() -> None:
    tags = [message.__struct_config__.tag for name in EVERY for message in CATALOGUE[name].messages]
    assert len(set(tags)) == len(tags)


def test_one_codec_can_speak_every_protocol() -> None:
    Codec([message for name in EVERY for message in CATALOGUE[name].messages])


# Layers hear anything: messages made of whatever the wire lets through, some of it about what the node knows

SHOWN = settings(max_examples=150)


def home_of(me: Peer, communities: Iterable[Community]) -> Community:
    return next(each for each in communities if me in each.members)


@cache
def static_world(name: str) -> Any:
    return setting(SMALL["chain of four"], CATALOGUE[name].params())


def static_node(name: str) -> Stack:
    """A subscribed node of an experiment."""
    world = static_world(name)
    node: Stack = CATALOGUE[name].static_node(world, ME, 1)
    node.step(Started(), 0)
    node.step(Subscribe(home_of(ME, world.communities).topic), 0)
    return node


def looks_right(effects: list[Effect], codec: Codec) -> None:
    for effect in effects:
        match effect:
            case Send(peers, message):
                assert peers
                codec.encode(message)  # or the driver would fall over it
            case SetTimer(after_us, _):
                assert after_us > 0
            case Note():
                assert effect.kind in KINDS
            case _:
                assert type(effect) in (Deliver, Relayed, Missing, Fetch, ReadLog)


@pytest.mark.parametrize("name", EVERY)
def test_every_message_is_heard_by_some_node(name: str) -> None:
    heard = {kind for each in ("camcast", "dispatch", "spidercast", "hpmcast") for kind in CATALOGUE[each].spoken}
    if CATALOGUE[name].role == "spread":
        heard |= static_node(name).hearers.keys()
    assert set(CATALOGUE[name].messages) <= heard


@pytest.mark.parametrize("name", SPREADS)
@SHOWN
@given(data=st.data())
def test_a_node_with_fixed_views_takes_any_message_from_a_stranger(name: str, data: st.DataObject) -> None:
    kinds = CATALOGUE[name].messages
    codec, node = Codec(kinds), static_node(name)
    for peer, message in data.draw(st.lists(st.tuples(PEERS, any_of(kinds)), max_size=4)):
        looks_right(node.step(Received(peer, codec.decode(codec.encode(message))), 1), codec)


def hears_anything(node: Stack, codec: Codec, heard: list[tuple[Peer, Struct]], subscribed: str) -> None:
    """A node lives through these messages, its timers going off in between."""
    waiting: list[tuple[int, Struct]] = []

    def feed(given: Any, now_us: int) -> None:
        effects = node.step(given, now_us)
        looks_right(effects, codec)
        waiting.extend((now_us + effect.after_us, effect.timer) for effect in effects if type(effect) is SetTimer)

    feed(Started((1, 2, 3)), 0)
    feed(Subscribe(topic(subscribed)), 0)
    for index, (peer, message) in enumerate(heard):
        now_us = 400_000 * (index + 1)
        for due in [each for each in waiting if each[0] <= now_us]:
            waiting.remove(due)
            feed(Fired(due[1]), now_us)
        feed(Received(peer, codec.decode(codec.encode(message))), now_us)


@SHOWN
@given(st.lists(st.tuples(PEERS, any_of(CATALOGUE["camcast"].spoken)), max_size=30), st.sampled_from(TOPICS))
def test_a_dynamic_node_takes_any_message_at_any_time(heard: list[tuple[Peer, Struct]], subscribed: str) -> None:
    node = camcast_node(ME, 1, recovery=RecoveryParams.live(), catchup=CatchUpParams())
    hears_anything(node, Codec(CATALOGUE["camcast"].spoken), heard, subscribed)


@SHOWN
@given(st.lists(st.tuples(PEERS, any_of(CATALOGUE["dispatch"].spoken)), max_size=30), st.sampled_from(TOPICS))
def test_a_dispatcher_takes_any_message_at_any_time(heard: list[tuple[Peer, Struct]], subscribed: str) -> None:
    node = dispatch_node(ME, 1, recovery=RecoveryParams.live(), catchup=CatchUpParams())
    hears_anything(node, Codec(CATALOGUE["dispatch"].spoken), heard, subscribed)


@SHOWN
@given(st.lists(st.tuples(PEERS, any_of(CATALOGUE["spidercast"].spoken)), max_size=30), st.sampled_from(TOPICS))
def test_a_node_of_an_overlay_takes_any_message_at_any_time(heard: list[tuple[Peer, Struct]], subscribed: str) -> None:
    node = spidercast_node(ME, 1, recovery=RecoveryParams.live(), catchup=CatchUpParams())
    hears_anything(node, Codec(CATALOGUE["spidercast"].spoken), heard, subscribed)


@SHOWN
@given(st.lists(st.tuples(PEERS, any_of(CATALOGUE["hpmcast"].spoken)), max_size=30), st.sampled_from(TOPICS))
def test_a_participant_takes_any_message_at_any_time(heard: list[tuple[Peer, Struct]], subscribed: str) -> None:
    recovery = RecoveryParams(method="exchange", answers_per_s=1000)
    node = hpmcast_node(ME, 1, (1, 1), (8, 8), recovery=recovery, catchup=CatchUpParams())
    hears_anything(node, Codec(CATALOGUE["hpmcast"].spoken), heard, subscribed)


@pytest.mark.parametrize("name", SPREADS)
def test_a_message_of_another_protocol_is_rejected_not_raised(name: str) -> None:
    class Foreign(Struct, frozen=True, tag="foreign.hello"):
        pass

    assert [type(each) for each in static_node(name).step(Received(9, Foreign()), 1)] == [Note]


# Other packages


PLUGIN = """
from gossamer.protocols import Protocol

PROTOCOL = Protocol(name="hearsay", role="spread", says="a rumour of a protocol", package="hearsay")
"""


def install(where: Path, entry: str, code: str) -> None:
    """A distribution as pip leaves it: one module, and metadata that names it."""
    (where / "hearsay.py").write_text(code)
    info = where / "hearsay-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hearsay\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[gossamer.protocols]\n{entry}\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "hearsay", raising=False)
    return tmp_path


def test_a_protocol_registered_through_an_entry_point_appears(site: Path) -> None:
    assert "hearsay" not in list(Catalogue())
    install(site, "hearsay = hearsay:PROTOCOL", PLUGIN)
    catalogue = Catalogue()
    assert catalogue["hearsay"].says == "a rumour of a protocol"
    assert list(catalogue) == [*EVERY, "hearsay"]
    assert len(catalogue) == len(EVERY) + 1
    with pytest.raises(Misuse, match="hearsay"):
        catalogue["nothing"]


def test_nobody_can_take_the_place_of_our_own(site: Path) -> None:
    install(site, "camcast = hearsay:PROTOCOL", PLUGIN)
    assert Catalogue()["camcast"] == CATALOGUE["camcast"]
