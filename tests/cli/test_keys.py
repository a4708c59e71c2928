"""gossamer keys: a network from its first key to its last revocation, by command."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from cli.running import gossamer, script
from gossamer.cli.keys import command
from gossamer.core.ids import peer_of
from gossamer.live.keys.keyring import Keyring


@pytest.fixture
def net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    said("init", "net", "--name", "cup")
    return Path("net")


def said(*arguments: object) -> str:
    answered = gossamer("keys", *arguments)
    assert (answered.exit_code, answered.stderr) == (0, ""), answered.stderr
    return answered.stdout


def told(*arguments: object) -> Any:
    return json.loads(said(*arguments, "--json"))


def refused(says: str, *arguments: object) -> None:
    answered = gossamer("keys", *arguments)
    assert (answered.exit_code, answered.stdout) == (2, "")
    assert re.fullmatch(r"gossamer: [^\n]+\n", answered.stderr)
    assert says in answered.stderr


@pytest.mark.parametrize("name", command.commands)  # type: ignore[attr-defined]
def test_every_command_gives_an_example_of_itself(name: str) -> None:
    assert re.search(rf"^ +Example: gossamer keys {name}\b", said(name, "--help"), re.MULTILINE)


def test_the_commands_are_listed_as_one_comes_to_need_them() -> None:
    listed = re.findall(r"^  ([a-z-]+)  ", said("--help").partition("Commands:")[2], re.MULTILINE)
    assert listed[:3] == ["init", "grant", "rotate"]
    assert sorted(listed) == sorted(command.commands)  # type: ignore[attr-defined]


def test_a_network_is_made_and_a_node_let_in(net: Path) -> None:
    answer = said("grant", net, "--node", "node-7", "--publish", ".soccer", "--subscribe", ".soccer")
    assert answer.startswith("node-7 may publish .soccer and subscribe .soccer until ")
    assert answer.endswith("all it needs is in net/nodes/node-7\n")
    ring = Keyring.load(net / "nodes/node-7")
    assert ring.grant.network.startswith("cup-")
    assert ring.grant.not_after_s - ring.grant.not_before_s == 365 * 86400


def test_what_a_machine_is_told_of_a_grant(net: Path) -> None:
    options = ("--publish", ".a", "--publish", ".b", "--subscribe", ".c", "--owner", "ACME", "--days", 3)
    grant = told("grant", net, "--node", "node-7", *options)
    assert (grant["publish"], grant["subscribe"], grant["owner"]) == ([".a", ".b"], [".c"], "ACME")
    assert grant["not_after_s"] - grant["not_before_s"] == 3 * 86400
    assert (grant["node"], grant["peer"], grant["state"]) == ("node-7", peer_of("node-7"), "good")
    assert grant["folder"] == "net/nodes/node-7"
    row = {name: value for name, value in grant.items() if name != "folder"}
    assert told("list", net) == [row]
    shown = told("show", net / "nodes/node-7")
    assert row.items() <= shown.items()
    assert (shown["has_key"], shown["revoked_version"], len(shown["trusts"])) == (True, 0, 1)


def test_what_people_are_shown(net: Path) -> None:
    assert said("list", net) == "Nobody yet: gossamer keys grant net --node NAME --publish .topic\n"
    key = told("grant", net, "--node", "node-7", "--publish", ".a", "--owner", "[b]ACME[/b]")["fingerprint"]
    row = said("list", net).splitlines()[1]
    assert row.split()[:4] == ["node-7", "good", key[:16], ".a"]
    shown = dict(re.split(r"  +", line, maxsplit=1) for line in said("show", net / "nodes/node-7").splitlines())
    assert shown["fingerprint"] == key
    assert shown["owner"] == "[b]ACME[/b]"
    assert shown["has key"] == "yes"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", shown["not after"])


def test_an_address_is_granted_kept_and_taken_back(net: Path) -> None:
    answer = said("grant", net, "--node", "node-7", "--subscribe", ".a", "--address", "02.0.1")
    assert answer.startswith("node-7 may subscribe .a and lives at 2.0.1 until ")
    assert said("list", net).splitlines()[1].split()[-1] == "2.0.1"
    assert told("show", net / "nodes/node-7")["address"] == "2.0.1"
    said("rotate", net, "--node", "node-7")
    said("rotate-authority", net)
    said("refresh", net)
    ring = Keyring.load(net / "nodes/node-7")
    assert ring.grant.address == ring.lives_at(ring.peer) == (2, 0, 1)
    assert told("grant", net, "--node", "node-7", "--address", "3.0.0")["address"] == "3.0.0"
    assert told("grant", net, "--node", "node-7", "--address", "")["address"] == ""


def test_two_nodes_do_not_live_at_one_address(net: Path) -> None:
    grant = ("--subscribe", ".a", "--address", "2.0.1")
    said("grant", net, "--node", "node-7", *grant)
    says = "node-7 lives at 2.0.1: choose another --address, or revoke node-7"
    refused(says, "grant", net, "--node", "node-8", *grant)
    assert [row["node"] for row in told("list", net)] == ["node-7"]
    said("grant", net, "--node", "node-7", *grant)  # it may have it again
    said("revoke", net, "--node", "node-7")
    said("grant", net, "--node", "node-8", *grant)
    refused("node-8 lives at 2.0.1", "grant", net, "--node", "node-7", "--new-key")
    said("grant", net, "--node", "node-7", "--new-key", "--address", "2.0.2")


def test_topics_are_added_and_taken_away_and_the_rest_stays(net: Path) -> None:
    said("grant", net, "--node", "node-7", "--publish", ".a", "--subscribe", ".a", "--days", 9)
    more = told("grant", net, "--node", "node-7", "--subscribe", ".b")
    assert (more["publish"], more["subscribe"]) == ([".a"], [".a", ".b"])
    assert more["not_after_s"] - more["not_before_s"] == 9 * 86400
    less = said("grant", net, "--node", "node-7", "--no-subscribe", ".a", "--no-publish", ".a")
    assert less.startswith("node-7 may subscribe .b until ")
    refused("--no-publish .a: what was granted is nothing", "grant", net, "--node", "node-7", "--no-publish", ".a")


def test_a_node_s_key_is_kept_or_changed(net: Path) -> None:
    keys = [
        told("grant", net, "--node", "node-7", "--publish", ".a")["fingerprint"],
        told("grant", net, "--node", "node-7", "--publish", ".b")["fingerprint"],
        told("grant", net, "--node", "node-7", "--new-key")["fingerprint"],
        (rotated := told("rotate", net, "--node", "node-7"))["fingerprint"],
    ]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
    assert rotated["publish"] == [".a", ".b"]


def test_a_node_whose_key_is_elsewhere_is_said_to_have_it_there(net: Path) -> None:
    said("grant", net, "--node", "node-7", "--publish", ".a")
    (net / "nodes/node-7/node.key").unlink()
    assert "node.key is not there: put the other files beside it" in said("grant", net, "--node", "node-7")
    assert told("show", net / "nodes/node-7")["has_key"] is False


def test_a_node_is_shut_out(net: Path) -> None:
    for name in ("node-7", "node-8"):
        said("grant", net, "--node", name, "--publish", ".a")
    key = told("list", net)[0]["fingerprint"]
    assert said("revoke", net, "--node", "node-7").startswith(
        f"revoked {key[:16]} of node-7\nThe list is now version 1"
    )
    assert [row["state"] for row in told("list", net)] == ["revoked", "good"]
    assert told("show", net / "nodes/node-7")["state"] == "revoked"
    other = told("list", net)[1]["fingerprint"]
    assert told("revoke", net, "--key", other[:10]) == {"version": 2, "revoked": [{"node": "node-8", "key": other}]}
    assert told("show", net / "nodes/node-7")["revoked_keys"] == 2


def test_an_authority_follows_another(net: Path) -> None:
    said("grant", net, "--node", "node-7", "--publish", ".a")
    before = told("show", net / "nodes/node-7")
    assert "Next: bring the folders in net/nodes to their nodes" in said("rotate-authority", net)
    refused("still depends on the old authority: run gossamer keys refresh net", "retire-authority", net)
    assert told("refresh", net) == {"issued": ["node-7"]}
    assert "issued again: nothing" in said("refresh", net)
    assert said("retire-authority", net).startswith("One authority.")
    after = told("show", net / "nodes/node-7")
    assert after["trusts"] == [after["authority"]] != before["trusts"]
    assert after["fingerprint"] == before["fingerprint"]


def test_a_key_that_audits_is_made_and_every_node_gets_its_public_half(net: Path) -> None:
    said("grant", "net", "--node", "a", "--publish", ".x")
    made = said("audit", "net")
    assert re.search(r"net/audit\.key \([0-9a-f]{16}\) opens traces: gossamer audit TRACES --key net/audit\.key", made)
    assert (net / "nodes" / "a" / "audit.pub").read_bytes() == (net / "audit.pub").read_bytes()
    refused("net/audit.key is there already: add --new-key to have another from now on", "audit", "net")
    said("audit", "net", "--new-key")
    assert len([*net.glob("audit-before-*.key")]) == 1


def test_a_passphrase_comes_from_a_file(net: Path) -> None:
    Path("words").write_text("open sesame\n")
    said("init", "safe", "--passphrase-file", "words")
    grant = ("grant", "safe", "--node", "node-7", "--publish", ".a")
    refused("safe/authority.key is encrypted: add --passphrase-file", *grant)
    said(*grant, "--passphrase-file", "words")
    Path("words").write_text("\n")
    refused("words is empty", *grant, "--passphrase-file", "words")
    refused("nowhere is missing", *grant, "--passphrase-file", "nowhere")


@pytest.mark.parametrize(
    ("says", "arguments"),
    [
        ("net holds a network already", ["init", "net"]),
        ("'no name' is no name for a network", ["init", "other", "--name", "no name"]),
        ("nowhere is not a network: make one with gossamer keys init nowhere", ["list", "nowhere"]),
        ("there is no folder nowhere", ["show", "nowhere"]),
        ("authorities.pem", ["show", "."]),
        ("'../x' is no name for a node", ["grant", "net", "--node", "../x", "--publish", ".a"]),
        ("topic 'a' must start with a dot", ["grant", "net", "--node", "x", "--publish", "a"]),
        ("x may do nothing yet", ["grant", "net", "--node", "x"]),
        ("--address '2.x' is no address", ["grant", "net", "--node", "x", "--subscribe", ".a", "--address", "2.x"]),
        ("is no address", ["grant", "net", "--node", "x", "--subscribe", ".a", "--address", "2..1"]),
        ("is no address", ["grant", "net", "--node", "x", "--subscribe", ".a", "--address", "4294967296"]),
        ("is no address", ["grant", "net", "--node", "x", "--subscribe", ".a", "--address", "-1.0"]),
        ("is no address", ["grant", "net", "--node", "x", "--subscribe", ".a", "--address", "1" * 5000]),
        ("is no address", ["grant", "net", "--node", "x", "--subscribe", ".a", "--address", ".".join("1" * 17)]),
        ("x may read nothing, so it has", ["grant", "net", "--node", "x", "--publish", ".a", "--address", "2.0.1"]),
        ("--days must be between 1 and", ["grant", "net", "--node", "x", "--publish", ".a", "--days", "-1"]),
        ("x has no key to replace: let it in with gossamer keys grant net --node x", ["rotate", "net", "--node", "x"]),
        ("no key was ever issued to x", ["revoke", "net", "--node", "x"]),
        ("give --node or --key", ["revoke", "net"]),
        ("there is one authority", ["retire-authority", "net"]),
    ],
)  # fmt: skip
def test_misuse_is_said_in_one_sentence(says: str, arguments: list[str], net: Path) -> None:
    refused(says, *arguments)


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_keys_that_others_may_read_are_not_used(net: Path) -> None:
    (net / "authority.key").chmod(0o644)
    refused("can be read by others: make it private with chmod 600", "grant", net, "--node", "x", "--publish", ".a")


def test_keys_need_nothing_heavy(net: Path) -> None:
    loaded = """
import sys
from gossamer.cli import main
from gossamer.live.keys import keyring
main(sys.argv[1:], standalone_mode=False)
heavy = ("numpy", "numba", "matplotlib", "pyspark", "pyarrow", "pandas", "gossamer.lab", "gossamer.pipeline")
print(*[name for name in heavy if name in sys.modules], file=sys.stderr)
"""
    ran = script(loaded, "keys", "grant", net, "--node", "node-7", "--publish", ".a")
    assert (ran.returncode, ran.stderr) == (0, "\n")
