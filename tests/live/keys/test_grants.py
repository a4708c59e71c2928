"""Grants: a subtree of topics, for a time, for one key."""

import pytest
from msgspec import msgpack
from msgspec.structs import replace

from gossamer.core.errors import Misuse, PeerFault
from gossamer.live.keys.grants import BYTES_MAX, SKEW_S, Grant, open_grant, seal_grant
from gossamer.live.keys.sealed import Authorities, seal
from gossamer.live.keys.signing import Signer, text, verify
from gossamer.live.keys.trust import Act, Stranger
from gossamer.wire.proof import signed_text

AUTHORITY, NODE = Signer.new(), Signer.new()
TRUSTED = Authorities([AUTHORITY.key])
GRANT = Grant("net-1", "node-1", NODE.key, (".soccer",), (".soccer.italy", ".news"), 1000, 2000, "ACME", 7)


def test_a_grant_comes_back_as_it_was_issued() -> None:
    for each in (GRANT, replace(GRANT, address=(2, 0, 2**32 - 1))):
        assert open_grant(seal_grant(each, AUTHORITY), TRUSTED) == (each, AUTHORITY.short)


@pytest.mark.parametrize(
    ("act", "topic", "may"),
    [
        ("publish", ".soccer", True),
        ("publish", ".soccer.italy.rome", True),
        ("publish", ".", False),
        ("publish", ".soccerball", False),
        ("publish", ".news", False),
        ("subscribe", ".soccer.italy", True),
        ("subscribe", ".soccer", False),
        ("subscribe", ".news.today", True),
        ("subscribe", ".new", False),
    ],
)
def test_a_grant_covers_its_topics_and_all_below_and_no_others(act: Act, topic: str, may: bool) -> None:
    assert GRANT.covers(act, topic) == may


def test_a_grant_of_the_root_covers_everything() -> None:
    assert replace(GRANT, publish=(".",)).covers("publish", ".any.thing")


@pytest.mark.parametrize(
    ("now_s", "good"),
    [(1000 - SKEW_S - 1, False), (1000 - SKEW_S, True), (1500, True), (2000 + SKEW_S, True), (2000.5 + SKEW_S, False)],
)
def test_a_grant_is_in_date_with_five_minutes_of_doubt(now_s: float, good: bool) -> None:
    assert SKEW_S == 300
    assert GRANT.in_date(now_s) == good


def test_a_grant_by_nobody_we_trust_is_a_stranger_s() -> None:
    with pytest.raises(Stranger, match="which this node does not trust"):
        open_grant(seal_grant(GRANT, Signer.new()), TRUSTED)


def test_a_node_cannot_seal_a_grant_in_the_authority_s_name() -> None:
    class Liar(Signer):
        pass

    liar = Liar(NODE.private)
    liar.short = AUTHORITY.short
    with pytest.raises(PeerFault, match="the authority did not sign"):
        open_grant(seal_grant(GRANT, liar), TRUSTED)


def test_what_is_signed_as_one_thing_is_not_another() -> None:
    content = msgpack.encode(GRANT)
    with pytest.raises(PeerFault, match="the authority did not sign"):
        open_grant(seal(b"revocation list", content, AUTHORITY), TRUSTED)
    texts = [text(b"grant", b""), text(b"revocation list", b""), text(b"record", b""), signed_text(1, b"")]
    assert not any(one.startswith(other) for one in texts for other in texts if one is not other)


def test_a_grant_with_a_later_version_s_field_is_read_without_it() -> None:
    fields = [getattr(GRANT, name) for name in Grant.__struct_fields__]
    later = seal(b"grant", msgpack.encode([*fields, "new"]), AUTHORITY)
    assert open_grant(later, TRUSTED)[0] == GRANT


def test_a_grant_from_before_there_were_addresses_is_good_and_names_none() -> None:
    *fields, address, client = (getattr(GRANT, name) for name in Grant.__struct_fields__)
    earlier = seal(b"grant", msgpack.encode(fields), AUTHORITY)
    assert open_grant(earlier, TRUSTED)[0] == GRANT
    assert (address, client) == ((), False)


def test_what_the_authority_signed_by_mistake_is_refused_and_nothing_else_happens() -> None:
    for content in (b"", b"\xc1", msgpack.encode([1]), msgpack.encode(replace(GRANT, key=b"short"))):
        with pytest.raises(PeerFault, match="not a grant"):
            open_grant(seal(b"grant", content, AUTHORITY), TRUSTED)


def test_a_grant_too_long_is_neither_issued_nor_opened() -> None:
    wide = replace(GRANT, publish=tuple(f".{'x' * 60}.{'y' * 60}.{i}" for i in range(64)))
    with pytest.raises(Misuse, match="grant topics above them"):
        seal_grant(wide, AUTHORITY)
    with pytest.raises(PeerFault, match="too long"):
        open_grant(bytes(BYTES_MAX + 1), TRUSTED)


def test_odd_keys_and_signatures_verify_nothing() -> None:
    signature = NODE.sign(b"text")
    assert verify(NODE.key, signature, b"text")
    for key in (b"", bytes(32), b"\xff" * 32, NODE.key[:31]):
        assert not verify(key, signature, b"text")
    for odd in (b"", signature[:63], signature + b"\x00", bytes(64)):
        assert not verify(NODE.key, odd, b"text")
