"""The keyring: what a node makes of its own folder, and what it believes of others."""

import os
from pathlib import Path
from typing import get_type_hints

import pytest
from msgspec import msgpack
from msgspec.structs import replace

from gossamer.core.errors import Misuse, PeerFault
from gossamer.core.ids import peer_of
from gossamer.live.keys import serials, standing
from gossamer.live.keys.grants import SKEW_S
from gossamer.live.keys.keyring import Keyring, record_text
from gossamer.live.keys.network import Network
from gossamer.live.keys.signing import Signer
from gossamer.live.keys.trust import RECORD_BYTES_MAX, Caller, OpenTrust, Record, Stranger, Trust
from gossamer.wire.proof import leaf
from live.keys.making import DAY, NOW, certificate, introduce, member, network, prove

LEAF = leaf(b"head", b"payload")


@pytest.fixture
def net(tmp_path: Path) -> Network:
    return network(tmp_path)


def test_a_keyring_answers_all_that_a_node_asks(net: Network) -> None:
    asked: Trust = member(net, "node-1")
    questions = [name for name in vars(Trust) if not name.startswith("_")] + ["name"]
    assert all(hasattr(asked, name) and hasattr(OpenTrust("x"), name) for name in questions)
    for name in questions:
        if name != "name":
            ours, theirs = get_type_hints(getattr(Keyring, name)), get_type_hints(getattr(Trust, name))
            assert list(ours) == list(theirs), name


# -- the folder ----------------------------------------------------------------------------------------------------


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match=r"there is no folder .*: copy what `gossamer keys grant` made"):
        Keyring.load(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["node.key", "node.crt", "grant", "authorities.pem", "network.secret", "revoked"])
def test_a_file_that_is_missing_damaged_or_empty_is_named(name: str, net: Network) -> None:
    member(net, "node-1")
    path = net.folder_of("node-1") / name
    whole = path.read_bytes()
    for damaged in (b"", b"noise", whole[: len(whole) // 2], whole[:40] + b"~" + whole[41:] + b"~"):
        path.write_bytes(damaged)
        with pytest.raises(Misuse, match=name):
            Keyring.load(path.parent, NOW)
    path.unlink()
    with pytest.raises(Misuse, match=f"{name} is missing"):
        Keyring.load(path.parent, NOW)


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
@pytest.mark.parametrize("name", ["node.key", "network.secret"])
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_secret_that_others_may_read_is_refused(name: str, mode: int, net: Network) -> None:
    member(net, "node-1")
    path = net.folder_of("node-1") / name
    path.chmod(mode)
    with pytest.raises(Misuse, match=f"{name} can be read by others: make it private with chmod 600"):
        Keyring.load(path.parent, NOW)


def test_files_of_two_nodes_do_not_go_together(net: Network) -> None:
    for name in ("node-1", "node-2"):
        member(net, name)
    here, there = net.folder_of("node-1"), net.folder_of("node-2")
    (here / "node.crt").write_bytes((there / "node.crt").read_bytes())
    with pytest.raises(Misuse, match=r"node\.crt and .*grant do not belong together"):
        Keyring.load(here, NOW)
    (here / "grant").write_bytes((there / "grant").read_bytes())
    with pytest.raises(Misuse, match=r"node\.key is not the key of node\.crt"):
        Keyring.load(here, NOW)


def test_a_key_of_another_kind_is_refused(net: Network) -> None:
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    member(net, "node-1")
    key = generate_private_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (net.folder_of("node-1") / "node.key").write_bytes(key)
    with pytest.raises(Misuse, match="is not an Ed25519 key"):
        Keyring.load(net.folder_of("node-1"), NOW)


def test_a_grant_of_another_network_is_not_good_here(net: Network, tmp_path: Path) -> None:
    member(net, "node-1")
    member(network(tmp_path, name="other"), "node-1")
    (net.folder_of("node-1") / "grant").write_bytes((tmp_path / "other/nodes/node-1/grant").read_bytes())
    with pytest.raises(Misuse, match="which this node does not trust"):
        Keyring.load(net.folder_of("node-1"), NOW)


def test_a_node_whose_grant_is_not_in_date_is_told_how_to_renew_it(net: Network) -> None:
    member(net, "node-1", days=1)
    folder = net.folder_of("node-1")
    assert Keyring.load(folder, NOW + DAY + SKEW_S)
    with pytest.raises(Misuse, match="has expired: renew it with gossamer keys grant NETWORK --node node-1"):
        Keyring.load(folder, NOW + DAY + SKEW_S + 1)
    with pytest.raises(Misuse, match=r"is not valid yet: .*this machine's clock"):
        Keyring.load(folder, NOW - SKEW_S - 1)


def test_a_node_whose_key_is_revoked_is_told_so(net: Network) -> None:
    member(net, "node-1")
    net.revoke("node-1", now_s=NOW)
    with pytest.raises(Misuse, match=r"is revoked: give it another with .* --new-key"):
        Keyring.load(net.folder_of("node-1"), NOW)


# -- callers -------------------------------------------------------------------------------------------------------


def test_a_certificate_says_whose_it_is(net: Network) -> None:
    one, two = member(net, "node-1"), member(net, "node-2")
    assert one.caller(certificate(two)) == Caller("node-2", two.grant.key)


def test_what_is_no_node_s_certificate_is_refused(net: Network) -> None:
    one = member(net, "node-1")
    for odd in (b"", b"noise", certificate(one)[:-1], certificate(one) + b"x"):
        with pytest.raises(PeerFault, match="not a node's certificate"):
            one.caller(odd)


# -- records -------------------------------------------------------------------------------------------------------


def test_a_record_is_admitted_as_it_was_made(net: Network) -> None:
    one, two = member(net, "node-1"), member(net, "node-2")
    data = two.record(["127.0.0.1:7400", "[::1]:7400"], 12)
    for _ in range(2):  # the second time from memory
        record = one.admit(data, NOW)
        assert (record.name, record.addresses, record.version) == ("node-2", ("127.0.0.1:7400", "[::1]:7400"), 12)
        assert record.peer == two.peer == peer_of("node-2")


@pytest.mark.parametrize(
    "address",
    [
        "node.example:7400",
        "müller.example:1",
        "my_host:0",
        "localhost:65535",
        "[fe80::1%eth0]:7",
        "[::ffff:10.0.0.1]:7",
    ],
)
def test_a_record_may_name_any_host_there_could_be(address: str, net: Network) -> None:
    one, two = member(net, "node-1"), member(net, "node-2")
    assert one.admit(two.record([address], 1), NOW).addresses == (address,)


@pytest.mark.parametrize(
    "address", ["node.example", "a:1:2", ":7400", "[10.0.0.1]:7", "a b:1", "a\n:1", "-a:1", "a:-1"]
)
def test_a_record_with_what_is_no_address_is_refused(address: str, net: Network) -> None:
    one, two = member(net, "node-1"), member(net, "node-2")
    with pytest.raises(PeerFault, match=r"a record of node-2 in which .* is not an address"):
        one.admit(two.record([address], 1), NOW)
    assert not one.may(two.peer, "publish", ".soccer", NOW)


def test_a_record_fits_where_records_go(net: Network) -> None:
    wide = member(net, "n" * 64, publish=[f".{'x' * 40}.{i}" for i in range(60)], owner="o" * 64)
    assert len(wide.record(["x" * 255 + ":65535"] * 8, 2**63 - 1)) <= RECORD_BYTES_MAX


def forged(ring: Keyring, signer: Signer | None = None, **changes: object) -> bytes:
    """A record with something changed, signed by whoever wants it admitted."""
    record = replace(msgpack.decode(ring.record(["127.0.0.1:1"], 1), type=Record), **changes)
    if signer:
        record = replace(record, signature=signer.sign(record_text(record)))
    return msgpack.encode(record)


def test_a_record_that_says_anything_else_is_refused(net: Network, tmp_path: Path) -> None:
    one, two = member(net, "node-1"), member(net, "node-2")
    stranger = member(network(tmp_path, name="other"), "node-2")
    two_signs = two._signer
    cases = {
        "that it did not sign": [
            forged(two, addresses=("127.0.0.1:2",)),
            forged(two, version=2),
            forged(two, signature=b""),
            forged(two, signature=bytes(64)),
            forged(two, Signer.new()),
        ],
        "with the grant of node-2": [forged(two, two_signs, name="node-3")],
        "with the grant of node-1": [forged(two, two_signs, grant=one._papers.sealed)],
        "not a grant": [forged(two, two_signs, grant=b"")],
        "which this node does not trust": [stranger.record([], 1)],
        "not a record": [b"noise", msgpack.encode({}), msgpack.encode([1, 2, 3]), forged(two, two_signs, name="..")],
        "too long": [bytes(RECORD_BYTES_MAX + 1)],
        "in a spelling of its own": [msgpack.encode([*msgpack.decode(two.record([], 1)), "more"])],
    }  # fmt: skip
    for says, refused in cases.items():
        for data in refused:
            with pytest.raises(PeerFault, match=says):
                one.admit(data, NOW)
    assert not one.may(two.peer, "publish", ".soccer", NOW)


def test_a_network_s_grant_in_another_network_of_the_same_authority_is_refused(net: Network) -> None:
    one = member(net, "node-1")
    net.id = "other-1"
    two = member(net, "node-2")
    with pytest.raises(PeerFault, match="with the grant of node-2 in other-1"):
        one.admit(two.record([], 1), NOW)


def test_a_record_out_of_date_is_refused_also_when_it_was_good_before(net: Network) -> None:
    one, two = member(net, "node-1"), member(net, "node-2", days=1)
    data = two.record([], 1)
    assert one.admit(data, NOW + DAY + SKEW_S)
    for now_s in (NOW + DAY + SKEW_S + 1, NOW - SKEW_S - 1):
        with pytest.raises(PeerFault, match="the grant of node-2 is out of date"):
            one.admit(data, now_s)
    assert one.admit(data, NOW)


def test_a_record_belongs_to_the_caller_with_its_name_and_key(net: Network) -> None:
    one, two = member(net, "node-1"), member(net, "node-2")
    record = one.admit(two.record([], 1), NOW)
    assert one.matches(record, Caller("node-2", two.grant.key))
    assert not one.matches(record, Caller("node-2", one.grant.key))
    assert not one.matches(record, Caller("node-1", two.grant.key))


# -- grants --------------------------------------------------------------------------------------------------------


def test_a_peer_may_do_what_its_grant_says_once_its_record_was_admitted(net: Network) -> None:
    one, two = member(net, "node-1"), member(net, "node-2", publish=[".soccer"], subscribe=[".news"], owner="ACME")
    assert not one.may(two.peer, "publish", ".soccer", NOW)
    assert one.owner(two.peer) == ""
    introduce(one, two)
    assert one.may(two.peer, "publish", ".soccer.italy", NOW)
    assert one.may(two.peer, "subscribe", ".news", NOW)
    assert not one.may(two.peer, "subscribe", ".soccer", NOW)
    assert not one.may(two.peer, "publish", ".", NOW)
    assert not one.may(two.peer, "publish", ".soccer", NOW + 31 * DAY)
    assert one.owner(two.peer) == "ACME"


def test_a_node_itself_is_judged_by_its_own_grant(net: Network) -> None:
    one = member(net, "node-1")
    assert one.may(one.peer, "publish", ".soccer", NOW)
    assert not one.may(one.peer, "publish", ".news", NOW)
    assert not one.may(one.peer, "publish", ".soccer", NOW + 31 * DAY)


def test_the_newest_grant_is_the_only_one_that_counts(net: Network) -> None:
    one, two = member(net, "node-1"), member(net, "node-2", publish=[".soccer", ".tennis"], subscribe=[".tennis"])
    introduce(one, two)
    old = two.record([], 1)
    newer = member(net, "node-2", no_publish=[".tennis"], no_subscribe=[".tennis"])
    introduce(one, newer)
    for _ in range(2):
        assert one.may(two.peer, "publish", ".soccer", NOW)
        assert not one.may(two.peer, "publish", ".tennis", NOW)
        assert not one.may(two.peer, "subscribe", ".tennis", NOW)
        one.admit(old, NOW)  # somebody repeats what the node said before


def test_an_old_grant_repeated_after_a_restart_widens_nothing(net: Network) -> None:
    one, two = member(net, "node-1"), member(net, "node-2", publish=[".soccer", ".tennis"])
    old = two.record([], 1)
    newer = member(net, "node-2", no_publish=[".tennis"])
    introduce(one, newer)
    one.settled()
    again = Keyring.load(net.folder_of("node-1"), NOW)
    again.admit(old, NOW)
    assert not again.may(two.peer, "publish", ".tennis", NOW)
    assert (again.owner(two.peer), again.lives_at(two.peer)) == ("", ())
    again.check(two.peer, LEAF, prove(two, [LEAF])[0], NOW)  # the key is the same: what it signed is genuine
    introduce(again, newer)
    assert again.may(two.peer, "publish", ".soccer", NOW)
    assert not again.may(two.peer, "publish", ".tennis", NOW)


def test_a_newer_grant_counts_also_once_it_ran_out(net: Network) -> None:
    """A grant can be cut short: the longer one before it does not come back."""
    two = member(net, "node-2", days=30)
    old, short = two.record([], 1), member(net, "node-2", days=1).record([], 2)
    one, late = member(net, "node-1"), NOW + 2 * DAY
    with pytest.raises(PeerFault, match="out of date"):
        one.admit(short, late)
    one.admit(old, late)
    assert not one.may(two.peer, "publish", ".soccer", late)


def test_a_grant_that_is_not_good_yet_replaces_nothing(net: Network) -> None:
    one, two = member(net, "node-1"), member(net, "node-2")
    introduce(one, two)
    early = member(net, "node-2", now_s=NOW + DAY)
    with pytest.raises(PeerFault, match="out of date"):
        one.admit(early.record([], 2), NOW)
    assert one.may(two.peer, "publish", ".soccer", NOW)


def test_two_processes_with_the_same_keys_keep_what_either_learnt(net: Network) -> None:
    node, client = member(net, "node-1"), Keyring.load(net.folder_of("node-1"), NOW)
    two, three = member(net, "node-2"), member(net, "node-3")
    for ring, met in ((node, two), (client, three)):
        ring.admit(met.record([], 1), NOW)
        ring.settled()
    kept = serials.read_serials(net.folder_of("node-1") / "newest")
    assert kept == {two.peer: two.grant.serial, three.peer: three.grant.serial}


def test_a_damaged_memory_of_grants_is_told_and_does_not_keep_a_node_from_starting(
    net: Network, caplog: pytest.LogCaptureFixture
) -> None:
    one, two = member(net, "node-1"), member(net, "node-2")
    (net.folder_of("node-1") / "newest").write_bytes(b"noise")
    one = Keyring.load(net.folder_of("node-1"), NOW)
    assert "newest is damaged" in caplog.text
    introduce(one, two)
    assert one.may(two.peer, "publish", ".soccer", NOW)


def test_grants_and_peers_held_are_bounded(net: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standing, "PEERS_MAX", 3)
    monkeypatch.setattr(standing, "REMEMBERED", 5)
    monkeypatch.setattr(serials, "SERIALS_MAX", 3)
    one = member(net, "node-1")
    for i in range(12):
        introduce(one, member(net, "node-2", publish=[f".t{i}"]))
    held = one._standing.of(peer_of("node-2"))
    assert [len(each.grant.publish) for each in held] == [*range(12, 4, -1)]
    for i in range(3, 9):
        introduce(one, member(net, f"node-{i}"))
    assert len(one._standing._peers) <= 3
    assert len(one._grants) <= 5
    assert len(one._records) <= 5
    assert len(one._serials) <= 3
    one.check(one.peer, LEAF, prove(one, [LEAF])[0], NOW)


# -- proofs --------------------------------------------------------------------------------------------------------


def test_an_event_is_checked_by_the_key_its_publisher_was_granted(net: Network) -> None:
    one, two, three = (member(net, f"node-{i}") for i in (1, 2, 3))
    introduce(one, two, three)
    leaves = [leaf(b"%d" % i, b"") for i in range(50)]
    proofs = prove(two, leaves)
    assert len(proofs) == 50
    for each, proof in zip(leaves, proofs):
        one.check(two.peer, each, proof, NOW)
    two.check(two.peer, leaves[0], proofs[0], NOW)
    assert proofs[0] is not None
    with pytest.raises(PeerFault, match="without their publisher's proof"):
        one.check(two.peer, LEAF, None, NOW)
    with pytest.raises(PeerFault, match="that node-2 did not sign"):
        one.check(two.peer, LEAF, proofs[0], NOW)
    with pytest.raises(Stranger, match="of which no record was admitted"):
        one.check(three.peer, leaves[0], proofs[0], NOW)
    with pytest.raises(PeerFault, match="that node-3 did not sign"):
        one.check(three.peer, leaves[0], replace(proofs[0], key=three._signer.short), NOW)
    with pytest.raises(PeerFault, match="revoked or out of date"):
        one.check(two.peer, leaves[0], proofs[0], NOW + 31 * DAY)


def test_an_event_of_a_publisher_not_met_yet_is_a_stranger_s(net: Network) -> None:
    one, two = member(net, "node-1"), member(net, "node-2")
    with pytest.raises(Stranger):
        one.check(two.peer, LEAF, prove(two, [LEAF])[0], NOW)
    introduce(one, two)
    one.check(two.peer, LEAF, prove(two, [LEAF])[0], NOW)


def test_a_member_cannot_sign_for_another_by_way_of_its_own_batch(net: Network) -> None:
    """The liar's batch holds an event in its own name and one in node-2's; the first makes the tree known."""
    one, two, liar = member(net, "node-1"), member(net, "node-2"), member(net, "liar")
    introduce(one, two, liar)
    own, stolen = leaf(b"the liar's", b""), leaf(b"in node-2's name", b"")
    proofs = prove(liar, [own, stolen])
    one.check(liar.peer, own, proofs[0], NOW)
    assert proofs[1] is not None
    with pytest.raises(PeerFault, match="that node-2 did not sign"):
        one.check(two.peer, stolen, replace(proofs[1], key=two._signer.short), NOW)
    with pytest.raises(Stranger):
        one.check(two.peer, stolen, proofs[1], NOW)


# -- topics --------------------------------------------------------------------------------------------------------


def test_topics_are_spelled_alike_inside_a_network_and_by_nobody_else(net: Network, tmp_path: Path) -> None:
    one, two = member(net, "node-1"), member(net, "node-2")
    stranger = member(network(tmp_path, name="other"), "node-1")
    assert one.spell(".soccer") == two.spell(".soccer") != stranger.spell(".soccer")
    assert one.spell(".soccer") != one.spell(".soccer.italy")
    assert one.spell(".soccer").startswith("#")
    assert len(one.spell(".soccer")) == 33
    assert "soccer" not in one.spell(".soccer")
