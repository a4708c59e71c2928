"""The authority's folder: whom it lets in, what it refuses, and what it leaves on disk."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.core.errors import Misuse
from gossamer.live.keys import files, ledger
from gossamer.live.keys.folder import read_papers, read_signer
from gossamer.live.keys.keyring import Keyring
from gossamer.live.keys.ledger import Ledger
from gossamer.live.keys.network import Network
from live.keys.making import DAY, NOW, member, network

NODE_FILES = ["authorities.pem", "grant", "network.secret", "node.crt", "node.key", "revoked"]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# -- the folder ---------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_secrets_are_private_and_the_rest_can_be_read(tmp_path: Path) -> None:
    net = network(tmp_path)
    net.grant("node-1", [".soccer"], now_s=NOW)
    private = [path.name for path in net.folder.rglob("*") if path.is_file() and mode(path) == 0o600]
    assert sorted(private) == [".lock", "authority.key", "network.secret", "network.secret", "node.key"]
    for path in net.folder.rglob("*"):
        assert mode(path) in ((0o700,) if path.is_dir() else (0o600, 0o644))


def test_a_node_gets_all_it_needs_and_no_authority(tmp_path: Path) -> None:
    net = network(tmp_path)
    net.grant("node-1", [".soccer"], [".soccer", ".news"], owner="ACME", days=30, now_s=NOW)
    there = net.folder_of("node-1")
    assert sorted(path.name for path in there.iterdir()) == NODE_FILES
    elsewhere = tmp_path / "moved"
    there.rename(elsewhere)
    ring = Keyring.load(elsewhere, NOW)
    assert (ring.name, ring.grant.owner, ring.grant.network) == ("node-1", "ACME", net.id)
    assert (ring.grant.publish, ring.grant.subscribe) == ((".soccer",), (".soccer", ".news"))
    assert (ring.grant.not_before_s, ring.grant.not_after_s) == (NOW, NOW + 30 * DAY)


def test_a_network_is_made_once(tmp_path: Path) -> None:
    net = network(tmp_path)
    before = {path.name: path.read_bytes() for path in net.folder.iterdir() if path.is_file()}
    with pytest.raises(Misuse, match="holds a network already"):
        Network.init(net.folder)
    assert {path.name: path.read_bytes() for path in net.folder.iterdir() if path.is_file()} == before


def test_two_networks_by_one_name_are_two(tmp_path: Path) -> None:
    one, two = Network.init(tmp_path / "a", "net"), Network.init(tmp_path / "b", "net")
    assert one.id != two.id
    assert one.id.startswith("net-")


@pytest.mark.parametrize("name", ["two words", "-net", "x" * 41, "né", "a/b"])
def test_an_odd_name_of_a_network_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="is no name for a network: give --name"):
        Network.init(tmp_path / "net", name)
    assert not (tmp_path / "net").exists()


def test_what_is_not_a_network_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="is not a network: make one with gossamer keys init"):
        Network(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(Misuse, match="file"):
        Network.init(tmp_path / "file")
    (tmp_path / "network.json").write_text("{")
    with pytest.raises(Misuse, match="damaged: restore it"):
        Network(tmp_path)


# -- the authority's key -------------------------------------------------------------------------------------------


def test_an_encrypted_authority_opens_to_its_passphrase_only(tmp_path: Path) -> None:
    path = tmp_path / "net"
    Network.init(path, passphrase=b"open sesame", now_s=NOW)
    assert b"ENCRYPTED" in (path / "authority.key").read_bytes()
    assert Network(path).nodes(NOW) == []  # looking needs no key
    with pytest.raises(Misuse, match="is encrypted: add --passphrase-file"):
        Network(path).grant("node-1", [".soccer"])
    with pytest.raises(Misuse, match="the passphrase does not open it"):
        Network(path, b"wrong").grant("node-1", [".soccer"])
    open_one = Network(path, b"open sesame")
    open_one.grant("node-1", [".soccer"], now_s=NOW)
    open_one.rotate_authority(NOW)
    assert b"ENCRYPTED" in (path / "authority.key").read_bytes()
    assert b"ENCRYPTED" in (path / "authority-old.key").read_bytes()


def test_a_passphrase_too_many_does_no_harm(tmp_path: Path) -> None:
    net = network(tmp_path)
    assert Network(net.folder, b"not needed").grant("node-1", [".soccer"], now_s=NOW)


def test_an_authority_key_that_others_may_read_or_that_is_damaged_is_refused(tmp_path: Path) -> None:
    net = network(tmp_path)
    key = net.folder / "authority.key"
    if os.name == "posix":
        key.chmod(0o640)
        with pytest.raises(Misuse, match="can be read by others: make it private with chmod 600"):
            net.grant("node-1", [".soccer"])
        key.chmod(0o600)
    key.write_bytes(b"noise")
    with pytest.raises(Misuse, match="is not a key: it is damaged"):
        Network(net.folder).grant("node-1", [".soccer"])
    key.unlink()
    with pytest.raises(Misuse, match=r"authority\.key is missing"):
        Network(net.folder).grant("node-1", [".soccer"])


# -- grants --------------------------------------------------------------------------------------------------------


def test_a_second_grant_is_for_the_same_key_and_counts_more(tmp_path: Path) -> None:
    net = network(tmp_path)
    one = net.grant("node-1", [".soccer"], owner="ACME", now_s=NOW)
    two = net.grant("node-1", subscribe=[".news"], now_s=NOW)
    assert (two.key, two.owner) == (one.key, "ACME")
    assert (two.publish, two.subscribe) == ((".soccer",), (".news",))
    assert two.serial > one.serial
    assert [issued for issued, _ in net.nodes(NOW)] == [two]
    assert Keyring.load(net.folder_of("node-1"), NOW).grant.serial == two.serial


def test_a_grant_without_topics_renews_what_there_was(tmp_path: Path) -> None:
    net = network(tmp_path)
    net.grant("node-1", [".soccer"], [".news"], days=1, now_s=NOW)
    again = net.grant("node-1", owner="", days=10, now_s=NOW + 5 * DAY)
    assert (again.publish, again.subscribe) == ((".soccer",), (".news",))
    assert again.not_after_s == NOW + 15 * DAY


def test_what_is_not_said_of_a_grant_stays_as_it_was(tmp_path: Path) -> None:
    net = network(tmp_path)
    net.grant("node-1", [".soccer"], [".soccer"], owner="ACME", address="2.0.1", days=30, now_s=NOW)
    more = net.grant("node-1", subscribe=[".news"], now_s=NOW + DAY)
    assert (more.publish, more.subscribe) == ((".soccer",), (".soccer", ".news"))
    assert (more.owner, more.address, more.not_after_s) == ("ACME", "2.0.1", NOW + 31 * DAY)
    less = net.grant("node-1", no_subscribe=[".soccer"], now_s=NOW)
    assert (less.publish, less.subscribe) == ((".soccer",), (".news",))
    changed = net.grant("node-1", [".a"], no_publish=[".soccer"], now_s=NOW)
    assert (changed.publish, changed.subscribe) == ((".a",), (".news",))


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({"no_publish": [".tennis"]}, "--no-publish .tennis: what was granted is .soccer$"),
        ({"no_publish": [".soccer.italy"]}, "--no-publish .soccer.italy: what was granted is .soccer$"),
        ({"no_subscribe": [".soccer"]}, "--no-subscribe .soccer: what was granted is nothing$"),
        ({"no_publish": [".soccer"]}, "could do nothing any more: shut it out with gossamer keys revoke"),
        ({"publish": [".a"], "no_publish": [".a"]}, "--publish .a and --no-publish .a contradict each other"),
    ],
)
def test_only_what_was_granted_can_be_taken_away(wanted: dict[str, object], says: str, tmp_path: Path) -> None:
    net = network(tmp_path)
    net.grant("node-1", [".soccer"], now_s=NOW)
    with pytest.raises(Misuse, match=says):
        net.grant("node-1", now_s=NOW, **wanted)  # type: ignore[arg-type]
    assert [issued.publish for issued, _ in net.nodes(NOW)] == [(".soccer",)]


def test_a_clock_set_back_does_not_make_a_new_grant_older(tmp_path: Path) -> None:
    net = network(tmp_path)
    before = net.grant("node-1", [".soccer"], now_s=NOW)
    assert net.grant("node-1", [".news"], now_s=NOW - 90 * DAY).serial > before.serial


def test_a_new_key_comes_with_certificate_and_grant_under_the_same_name(tmp_path: Path) -> None:
    net = network(tmp_path)
    one = net.grant("node-1", [".soccer"], now_s=NOW)
    two = net.grant("node-1", new_key=True, now_s=NOW)
    assert two.key != one.key
    assert two.publish == one.publish
    papers = read_papers(net.folder_of("node-1"))
    assert read_signer(papers).key.hex() == two.key


def test_a_node_whose_key_has_left_the_folder_is_renewed_without_it(tmp_path: Path) -> None:
    net = network(tmp_path)
    one = net.grant("node-1", [".soccer"], now_s=NOW)
    there = net.folder_of("node-1")
    there.rename(tmp_path / "host")
    two = net.grant("node-1", [".news"], now_s=NOW)
    assert two.key == one.key
    assert not (there / "node.key").exists()
    for path in there.iterdir():
        path.replace(tmp_path / "host" / path.name)
    assert Keyring.load(tmp_path / "host", NOW).grant.publish == (".soccer", ".news")


@pytest.mark.parametrize("name", ["", "..", ".hidden", "a/b", "a b", "é", "x" * 65, "-x", "x\n", "a\x00"])
def test_an_odd_name_of_a_node_is_refused(name: str, tmp_path: Path) -> None:
    net = network(tmp_path)
    with pytest.raises(Misuse, match="is no name for a node: give --node"):
        net.grant(name, [".soccer"])
    assert list((net.folder / "nodes").iterdir()) == []


def test_two_names_with_one_peer_number_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    net = network(tmp_path)
    net.grant("node-1", [".soccer"], now_s=NOW)
    monkeypatch.setattr(ledger, "peer_of", lambda name: 7)
    with pytest.raises(Misuse, match="node-2 could be taken for node-1"):
        net.grant("node-2", [".soccer"], now_s=NOW)
    net.grant("node-1", [".soccer"], now_s=NOW)


def test_two_names_that_some_file_systems_take_for_one_are_refused(tmp_path: Path) -> None:
    net = network(tmp_path)
    net.grant("node-1", [".soccer"], now_s=NOW)
    with pytest.raises(Misuse, match="NODE-1 could be taken for node-1"):
        net.grant("NODE-1", [".soccer"], now_s=NOW)


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({"publish": ["soccer"]}, "topic 'soccer' must start with a dot"),
        ({"subscribe": [".a b"]}, "has a space"),
        ({"publish": [f".t{i}" for i in range(65)]}, "64 topics at most"),
        ({"publish": [f".{'x' * 60}.{i}" for i in range(64)]}, "do not fit a grant"),
        ({}, "node-1 may do nothing yet: add --publish"),
        ({"publish": [".a"], "days": 0}, "--days must be between 1 and 36,500, not 0"),
        ({"publish": [".a"], "days": -3}, "not -3"),
        ({"publish": [".a"], "days": 1e9}, "--days must be"),
        ({"publish": [".a"], "days": float("nan")}, "not nan"),
        ({"publish": [".a"], "owner": "x" * 65}, "is not a label"),
        ({"publish": [".a"], "owner": "two\nlines"}, "is not a label"),
    ],
)
def test_a_wish_that_cannot_be_granted_is_refused_and_leaves_nothing(
    wanted: dict[str, object], says: str, tmp_path: Path
) -> None:
    net = network(tmp_path)
    with pytest.raises(Misuse, match=says):
        net.grant("node-1", **wanted)  # type: ignore[arg-type]
    assert net.nodes(NOW) == []
    assert list((net.folder / "nodes").iterdir()) == []


def test_what_every_node_is_worth(tmp_path: Path) -> None:
    net = network(tmp_path)
    for name, days, at in (("b", 30, NOW), ("a", 1, NOW - 9 * DAY), ("c", 30, NOW), ("d", 30, NOW + DAY)):
        net.grant(name, [".soccer"], days=days, now_s=at)
    net.revoke("c", now_s=NOW)
    worth = [(issued.node, state) for issued, state in net.nodes(NOW)]
    assert worth == [("a", "expired"), ("b", "good"), ("c", "revoked"), ("d", "not yet")]


# -- what happens to files -------------------------------------------------------------------------------------------


def test_a_line_that_a_crash_cut_short_is_dropped(tmp_path: Path) -> None:
    net = network(tmp_path)
    for name in ("node-1", "node-2"):
        net.grant(name, [".soccer"], now_s=NOW)
    path = net.folder / "issued.jsonl"
    path.write_bytes(path.read_bytes()[:-7])
    assert [issued.node for issued, _ in net.nodes(NOW)] == ["node-1"]
    net.grant("node-3", [".soccer"], now_s=NOW)
    assert [json.loads(line)["node"] for line in path.read_text().splitlines()] == ["node-1", "node-3"]


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "issued.jsonl").write_bytes(b'{"node": 3}\n')
    with pytest.raises(Misuse, match="is damaged in line 1: restore it"):
        Ledger(tmp_path / "issued.jsonl")


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files.write(tmp_path / "grant", b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(Misuse, match=r"cannot write .*: No space left on device"):
        files.write(tmp_path / "grant", b"new")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("grant", b"old")]


@pytest.mark.skipif(sys.platform != "linux", reason="what a handle stands for is asked of /proc")
def test_what_is_on_disk_is_there_under_its_name_after_a_power_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rename has reached the disk only once the folder has."""
    net = network(tmp_path)
    done: list[object] = []
    monkeypatch.setattr(os, "fsync", lambda handle: done.append(Path(f"/proc/self/fd/{handle}").resolve()))
    replace = os.replace
    monkeypatch.setattr(os, "replace", lambda made, path: (replace(made, path), done.append(str(path))))
    net.grant("node-1", [".soccer"], now_s=NOW)
    there = net.folder_of("node-1")
    for name in ("network.secret", "authorities.pem", "revoked", "node.key", "node.crt", "grant"):
        assert done[done.index(str(there / name)) + 1] == there
    assert there.parent in done  # where the node's own folder was made
    assert done[done.index(net.folder / "issued.jsonl") + 1] == net.folder


def test_a_file_far_too_long_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "grant").write_bytes(bytes(files.SIZE_MAX + 1))
    with pytest.raises(Misuse, match="too long to be what its name says"):
        files.read(tmp_path / "grant")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such lock")
def test_one_command_at_a_time_changes_a_network(tmp_path: Path) -> None:
    net = network(tmp_path)
    code = "import sys; from gossamer.live.keys.network import Network; Network(sys.argv[1]).grant(sys.argv[2], ['.a'])"
    names = [f"node-{i}" for i in range(4)]
    running = [subprocess.Popen([sys.executable, "-c", code, str(net.folder), name]) for name in names]
    assert [each.wait() for each in running] == [0] * 4
    assert [issued.node for issued, _ in net.nodes()] == names
    assert all(Keyring.load(net.folder_of(name)).name == name for name in names)


def test_a_node_needs_nothing_of_the_network_s_folder(tmp_path: Path) -> None:
    net = network(tmp_path)
    ring = member(net, "node-1")
    net.folder.joinpath("authority.key").unlink()
    ring.reload(NOW)
    assert ring.record([], 1)
