"""Keys change and keys are revoked while nodes run: nothing genuine is lost, and whoever is out stays out."""

import logging
import os
from pathlib import Path
from threading import current_thread

import pytest

from gossamer.core.errors import Misuse, PeerFault
from gossamer.live.keys import revoked
from gossamer.live.keys.keyring import Keyring
from gossamer.live.keys.network import Network
from gossamer.live.keys.revoked import BYTES_MAX, KEYS_MAX, Revocations, Revoked, open_revocations, seal_revocations
from gossamer.live.keys.sealed import Authorities
from gossamer.live.keys.signing import Signer, fingerprint
from gossamer.live.keys.trust import Caller, Stranger
from gossamer.wire.proof import leaf
from live.keys.making import DAY, NOW, certificate, introduce, member, network, prove

BEFORE, AFTER = leaf(b"before", b""), leaf(b"after", b"")


@pytest.fixture
def net(tmp_path: Path) -> Network:
    return network(tmp_path)


def rotated(net: Network, ring: Keyring) -> None:
    net.grant(ring.name, new_key=True, days=30, now_s=NOW + 60)
    ring.reload(NOW + 60)


# -- a node's key --------------------------------------------------------------------------------------------------


def test_what_was_signed_before_a_change_of_keys_stays_good_and_what_comes_after_is(net: Network) -> None:
    one, two = member(net, "node-1"), member(net, "node-2")
    introduce(one, two)
    (before,) = prove(two, [BEFORE])
    rotated(net, two)
    (after,) = prove(two, [AFTER])
    with pytest.raises(Stranger):  # its new record has not come yet
        one.check(two.peer, AFTER, after, NOW + 60)
    introduce(one, two, now_s=NOW + 60)
    one.check(two.peer, AFTER, after, NOW + 60)
    one.check(two.peer, BEFORE, before, NOW + 60)
    two.check(two.peer, BEFORE, before, NOW + 60)
    assert one.may(two.peer, "publish", ".soccer", NOW + 60)


def test_a_record_by_the_new_key_is_still_the_caller_s_who_came_with_the_old(net: Network) -> None:
    one, two = member(net, "node-1"), member(net, "node-2")
    introduce(one, two)
    caller = one.caller(certificate(two))
    old_key = caller.key
    rotated(net, two)
    record = one.admit(two.record([], 2), NOW + 60)
    assert one.matches(record, caller)
    assert one.matches(record, one.caller(certificate(two)))
    assert not one.matches(record, Caller("node-2", one.grant.key))
    one.revoke(revocations(net, key=fingerprint(old_key).hex()))
    assert not one.matches(record, caller)
    assert one.is_revoked(old_key)


def test_only_the_newest_key_says_what_a_peer_may_do(net: Network) -> None:
    one, two = member(net, "node-1"), member(net, "node-2")
    introduce(one, two)
    old = two.record([], 1)
    net.grant("node-2", [".news"], no_publish=[".soccer"], new_key=True, days=30, now_s=NOW)
    two.reload(NOW)
    introduce(one, two)
    assert not one.may(two.peer, "publish", ".soccer", NOW)
    assert one.may(two.peer, "publish", ".news", NOW)
    one.admit(old, NOW)
    assert not one.may(two.peer, "publish", ".soccer", NOW)


def test_a_reload_that_finds_the_folder_no_good_changes_nothing(net: Network) -> None:
    one, two = member(net, "node-1"), member(net, "node-2")
    contexts, key = two.contexts(), two.grant.key
    grant = net.folder_of("node-2") / "grant"
    whole = grant.read_bytes()
    net.grant("node-2", new_key=True, now_s=NOW)
    grant.write_bytes(whole)  # as if the copy had stopped half way
    with pytest.raises(Misuse, match="do not belong together"):
        two.reload(NOW)
    assert (two.contexts(), two.grant.key) == (contexts, key)
    introduce(one, two)
    one.check(two.peer, AFTER, prove(two, [AFTER])[0], NOW)


def test_a_folder_does_not_become_another_node_s(net: Network) -> None:
    one = member(net, "node-1")
    member(net, "node-2")
    for path in net.folder_of("node-2").iterdir():
        path.replace(net.folder_of("node-1") / path.name)
    with pytest.raises(Misuse, match="is now of node-2, not of node-1"):
        one.reload(NOW)


def test_an_expired_node_is_told_at_reload_and_renewed_by_the_next(net: Network) -> None:
    one = member(net, "node-1", days=1)
    with pytest.raises(Misuse, match="has expired"):
        one.reload(NOW + 2 * DAY)
    net.grant("node-1", days=9, now_s=NOW + 2 * DAY)
    one.reload(NOW + 2 * DAY)
    assert one.may(one.peer, "publish", ".soccer", NOW + 3 * DAY)


# -- the authority's key -------------------------------------------------------------------------------------------


def test_an_authority_is_followed_by_another_in_three_steps(net: Network) -> None:
    member(net, "node-1")
    net.grant("ended", [".soccer"], days=1, now_s=NOW - 9 * DAY)
    net.grant("bad", [".soccer"], days=30, now_s=NOW)
    net.revoke("bad", now_s=NOW)
    with pytest.raises(Misuse, match="there is one authority"):
        net.retire_authority(NOW)
    net.rotate_authority(NOW)
    assert len(Keyring.load(net.folder_of("node-1"), NOW)._papers.authorities.keys) == 2
    with pytest.raises(Misuse, match="two authorities are trusted already: run gossamer keys retire-authority"):
        net.rotate_authority(NOW)
    with pytest.raises(Misuse, match="node-1 still depends on the old authority: run gossamer keys refresh"):
        net.retire_authority(NOW)
    before = Keyring.load(net.folder_of("node-1"), NOW).grant
    assert net.refresh(NOW) == ["node-1"]
    assert net.refresh(NOW) == []
    net.retire_authority(NOW)
    ring = Keyring.load(net.folder_of("node-1"), NOW)
    assert list(ring._papers.authorities.keys) == [net.authority.signer.short]
    assert (ring.grant.key, ring.grant.not_after_s) == (before.key, before.not_after_s)
    assert not (net.folder / "authority-old.key").exists()
    assert [each.node for each in net.revocations().revoked] == ["bad"]


def test_a_new_node_is_let_in_by_the_newer_authority(net: Network) -> None:
    one = member(net, "node-1")
    net.rotate_authority(NOW)
    late = member(net, "late")
    with pytest.raises(Stranger):
        one.admit(late.record([], 1), NOW)
    one.reload(NOW)
    introduce(one, late)


def test_a_revocation_between_two_authorities_reaches_those_who_know_only_the_elder(net: Network) -> None:
    one, two = member(net, "node-1"), member(net, "node-2")
    introduce(one, two)
    net.rotate_authority(NOW)
    assert one.revoke(revocations(net, "node-2")) == [two.peer]


def test_a_change_of_authorities_that_a_crash_cut_short_is_taken_up_again(
    net: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    member(net, "node-1")
    write, written = Signer.write, list[Path]()

    def crash(signer: Signer, path: Path, passphrase: bytes | None = None) -> None:
        if len(written) == steps:
            raise KeyboardInterrupt
        written.append(path)
        write(signer, path, passphrase)

    for steps in (0, 1):  # noqa: B007
        written.clear()
        with monkeypatch.context() as patched:
            patched.setattr(Signer, "write", crash)
            with pytest.raises(KeyboardInterrupt):
                Network(net.folder).rotate_authority(NOW)
        assert Network(net.folder).grant("node-1", now_s=NOW)
        Keyring.load(net.folder_of("node-1"), NOW)
    Network(net.folder).rotate_authority(NOW)
    assert Network(net.folder).refresh(NOW) == ["node-1"]
    Network(net.folder).retire_authority(NOW)
    Keyring.load(net.folder_of("node-1"), NOW)


# -- revocation ------------------------------------------------------------------------------------------------------


def revocations(net: Network, node: str | None = None, key: str | None = None) -> bytes:
    """The list as it travels, once this is revoked."""
    net.revoke(node, key, now_s=NOW)
    return (net.folder / "revoked").read_bytes()


def test_a_revoked_node_is_out_of_everything(net: Network) -> None:
    one, two = member(net, "node-1"), member(net, "node-2")
    introduce(one, two)
    record, (proof,) = two.record([], 1), prove(two, [BEFORE])
    one.check(two.peer, BEFORE, proof, NOW)
    assert one.revocations() == (0, b"")
    data = revocations(net, "node-2")
    assert one.revoke(data) == [two.peer]
    assert one.revocations() == (1, data)
    assert not one.may(two.peer, "publish", ".soccer", NOW)
    with pytest.raises(PeerFault, match="the key of node-2 is revoked"):
        one.admit(record, NOW)
    with pytest.raises(PeerFault, match="revoked or out of date"):
        one.check(two.peer, BEFORE, proof, NOW)
    with pytest.raises(PeerFault, match="revoked"):
        one.caller(certificate(two))
    assert one.revoke(data) == []


def test_a_list_is_kept_over_a_restart_and_an_older_one_never_replaces_it(net: Network) -> None:
    one, _, _ = (member(net, f"node-{i}") for i in (1, 2, 3))
    empty = (net.folder / "revoked").read_bytes()
    first, second = revocations(net, "node-2"), revocations(net, "node-3")
    path = net.folder_of("node-1") / "revoked"
    path.write_bytes(empty)
    one = Keyring.load(path.parent, NOW)
    assert len(one.revoke(second)) == 2
    one.settled()
    assert path.read_bytes() == second
    for older in (first, empty, second):
        assert one.revoke(older) == []
        assert one.revocations() == (2, second)
    path.write_bytes(first)  # somebody copies an old folder over the new one
    one.reload(NOW)
    one.settled()
    assert one.revocations() == (2, second)
    assert path.read_bytes() == second
    assert Keyring.load(path.parent, NOW).revocations() == (2, second)


def test_whoever_hears_of_a_revocation_does_not_wait_for_the_disk(
    net: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = member(net, "node-1"), member(net, "node-2")
    data = revocations(net, "node-2")
    (net.folder_of("node-1") / "revoked").write_bytes(b"")
    by: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda handle: by.append(current_thread().name))
    assert one.revoke(data) == [two.peer]
    one.settled()
    assert by
    assert all(name.startswith("gossamer-keys") for name in by)
    assert (net.folder_of("node-1") / "revoked").read_bytes() == data


def test_a_reload_takes_a_newer_list_even_where_it_shuts_out_the_node_itself(net: Network) -> None:
    one, two = member(net, "node-1"), member(net, "node-2")
    introduce(one, two)
    data = revocations(net, "node-2")
    assert one.shut_out() == []
    one.reload(NOW)
    assert one.shut_out() == [two.peer]
    assert one.revocations() == (1, data)
    assert not one.may(two.peer, "publish", ".soccer", NOW)
    with pytest.raises(Misuse, match="the key of node-2 is revoked"):
        two.reload(NOW)
    assert two.revocations() == (1, data)
    assert two.shut_out() == [two.peer]
    assert not two.may(two.peer, "publish", ".soccer", NOW)


def test_a_node_learns_by_gossip_that_it_is_out(net: Network) -> None:
    two = member(net, "node-2")
    assert two.revoke(revocations(net, "node-2")) == [two.peer]
    assert not two.may(two.peer, "publish", ".soccer", NOW)


def test_all_keys_a_node_has_had_are_revoked_or_one(net: Network) -> None:
    first, other = net.grant("node-1", [".soccer"], now_s=NOW), net.grant("node-2", [".soccer"], now_s=NOW)
    second = net.grant("node-1", new_key=True, now_s=NOW)
    assert [each.key for each in net.revoke(key=other.fingerprint.hex()[:12], now_s=NOW)] == [other.fingerprint]
    assert [each.key for each in net.revoke("node-1", now_s=NOW)] == [first.fingerprint, second.fingerprint]
    assert net.revocations().version == 2
    third = net.grant("node-1", new_key=True, now_s=NOW)
    assert third.fingerprint not in net.revocations().keys
    assert Keyring.load(net.folder_of("node-1"), NOW)


def test_a_peer_that_changed_its_key_is_not_shut_out_with_the_old_one(net: Network) -> None:
    one, two = member(net, "node-1"), member(net, "node-2")
    introduce(one, two)
    old, (proof,) = two.grant.key, prove(two, [BEFORE])
    rotated(net, two)
    introduce(one, two, now_s=NOW + 60)
    assert one.revoke(revocations(net, key=fingerprint(old).hex())) == []
    assert one.may(two.peer, "publish", ".soccer", NOW + 60)
    with pytest.raises(PeerFault, match="revoked or out of date"):
        one.check(two.peer, BEFORE, proof, NOW + 60)


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({"node": "node-9"}, "no key was ever issued to node-9"),
        ({}, "give --node or --key"),
        ({"key": "0000000000"}, "is not the fingerprint of one key"),
        ({"key": ""}, "is not the fingerprint of one key"),
        ({"node": "bad"}, "bad is revoked already"),
    ],
)
def test_a_revocation_of_nothing_is_refused(wanted: dict[str, str], says: str, net: Network) -> None:
    for name in ("node-1", "bad"):
        net.grant(name, [".soccer"], now_s=NOW)
    net.revoke("bad", now_s=NOW)
    with pytest.raises(Misuse, match=says):
        net.revoke(**wanted, now_s=NOW)  # type: ignore[arg-type]
    assert net.revocations().version == 1


def test_a_revoked_key_gets_no_new_grant(net: Network) -> None:
    net.grant("node-1", [".soccer"], now_s=NOW)
    net.revoke("node-1", now_s=NOW)
    with pytest.raises(Misuse, match="the key of node-1 is revoked: add --new-key"):
        net.grant("node-1", [".news"], now_s=NOW)
    assert len((net.folder / "issued.jsonl").read_text().splitlines()) == 1


def test_keys_whose_grants_ran_out_leave_the_list(net: Network) -> None:
    for name, days in (("short", 1), ("long", 30), ("last", 30)):
        net.grant(name, [".soccer"], days=days, now_s=NOW)
    for name in ("short", "long"):
        net.revoke(name, now_s=NOW)
    net.revoke("last", now_s=NOW + 2 * DAY)
    assert [each.node for each in net.revocations().revoked] == ["long", "last"]


def test_a_list_is_bounded_and_the_longest_can_still_travel(net: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = net.authority.signer
    full = tuple(Revoked(fingerprint(b"%d" % i), f"{i:x>64}") for i in range(KEYS_MAX))
    sealed = seal_revocations(Revocations("n" * 64, 2**63 - 1, 2**40 - 1, full), authority)
    assert len(sealed) <= BYTES_MAX
    assert open_revocations(sealed, Authorities([authority.key])).revoked == full
    monkeypatch.setattr("gossamer.live.keys.network.KEYS_MAX", 1)
    for name in ("node-1", "node-2"):
        net.grant(name, [".soccer"], now_s=NOW)
    net.revoke("node-1", now_s=NOW)
    with pytest.raises(Misuse, match="the list of revoked keys holds 1"):
        net.revoke("node-2", now_s=NOW)


def test_a_list_of_another_network_is_refused(net: Network) -> None:
    one = member(net, "node-1")
    other = seal_revocations(Revocations("other-1", 9, int(NOW), ()), net.authority.signer)
    with pytest.raises(PeerFault, match="a revocation list of other-1"):
        one.revoke(other)
    with pytest.raises(Stranger, match="which this node does not trust"):
        one.revoke(seal_revocations(Revocations(net.id, 9, int(NOW), ()), Signer.new()))
    with pytest.raises(PeerFault, match="too long"):
        one.revoke(bytes(revoked.BYTES_MAX + 1))
    assert one.revocations() == (0, b"")


def test_a_list_that_cannot_be_kept_counts_nevertheless(
    net: Network, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    one, two = member(net, "node-1"), member(net, "node-2")
    data = revocations(net, "node-2")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with caplog.at_level(logging.WARNING, "gossamer.keys"):
        assert one.revoke(data) == [two.peer]
        one.settled()
    assert one.is_revoked(two.grant.key)
    assert "No space left on device" in caplog.text
