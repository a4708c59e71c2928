"""Nodes as daemons: what they say, how they end, reload and are killed, and what keeps them from starting."""

import json
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli.processes import HERE, NOBODY, QUICK, Daemon, Stage, gossamer
from gossamer.live.keys.network import Network

# Life


def test_a_node_says_where_it_listens_and_why_only_there(stage: Stage, net: Path) -> None:
    open_node = stage.run("node", "--name", "open", "--bind", HERE)
    assert re.fullmatch(
        r"open takes calls at 127\.0\.0\.1:\d+ without keys, "
        r"so for this machine only \(whoever connects is believed\); "
        r"numbers at http://127\.0\.0\.1:\d+/metrics\n",
        open_node.line(),
    )
    safe = stage.run("node", "--keys", net / "nodes" / "three", "--bind", HERE, "--set", "metrics.bind=off")
    assert re.fullmatch(
        rf"three takes calls at 127\.0\.0\.1:\d+ with TLS and the keys in {net}/nodes/three; no metrics\n", safe.line()
    )
    place = ("--set", "spread=hpmcast", "--set", "hpmcast.branching=2,3", "--set", "hpmcast.address=1.2")
    assert ", and lives at 1.2; " in stage.run("node", "--name", "placed", "--bind", HERE, *place).line()


def test_a_node_serves_its_numbers_and_its_health(pair: tuple[Daemon, Daemon]) -> None:
    one, two = pair
    one.publish(".numbers", "1")
    two.payloads(".numbers", 1)
    status, page = two.page("/metrics")
    assert status == 200
    assert 'gossamer_deliveries_total{topic=".numbers"} 1\n' in page
    status, page = two.page("/healthz")
    health = json.loads(page)
    assert (health["name"], health["address"]) == ("two", two.address)
    assert (status, health["status"]) in ((200, "ok"), (503, "joining"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_node_that_is_told_to_stop_leaves_and_ends_well(number: int, stage: Stage) -> None:
    daemon = stage.daemon("--name", "goes", "--bind", HERE)
    assert daemon.end(number) == 0


def test_a_second_signal_ends_a_node_at_once(stage: Stage) -> None:
    daemon = stage.daemon("--name", "waits", "--bind", HERE, "--set", "timeouts.leave_s=600")
    daemon.publish(".nobody", "it waits for somebody to take this event")
    daemon.tell(signal.SIGTERM)
    daemon.complaint("leaving")
    assert daemon.end(signal.SIGTERM) == 128 + signal.SIGTERM


def test_a_killed_node_sends_after_its_restart_what_it_had_accepted_and_once(stage: Stage, tmp_path: Path) -> None:
    reader = stage.daemon("--name", "reader", "--bind", HERE, "--subscribe", ".")
    writer = ("--name", "writer", "--bind", HERE, "--seed", reader.address, "--spool", tmp_path / "spool")
    first = stage.daemon(*writer)
    first.publish(".orders", "before")
    assert first.end(signal.SIGKILL) == -signal.SIGKILL
    second = stage.daemon(*writer)
    assert reader.payloads(".orders", 1) == ["before"]
    second.publish(".orders", "after")
    assert sorted(reader.payloads(".orders", 2)) == ["after", "before"]
    assert second.end() == 0
    assert 'gossamer_deliveries_total{topic=".orders"} 2\n' in reader.page("/metrics")[1]


def test_a_reader_calls_a_node_that_went_away_until_it_is_back(stage: Stage, tmp_path: Path) -> None:
    settings = ("--name", "comes-back", "--spool", tmp_path, "--subscribe", ".")
    daemon = stage.daemon("--bind", HERE, *settings)
    reading = stage.run("subscribe", ".news", "--node", daemon.address, "--name", "me", "--from-start", "--json")
    daemon.publish(".news", "one")
    assert reading.object()["payload"] == "one"
    daemon.end()
    reading.complaint("it is called again until it answers")
    again = stage.daemon("--bind", daemon.address, *settings)
    reading.complaint(f"attached to the node at {daemon.address} again")
    again.publish(".news", "two")
    news = reading.object()
    if news["redelivered"]:  # the node went before it heard that this one had been printed
        assert news["payload"] == "one"
        news = reading.object()
    assert (news["payload"], news["redelivered"]) == ("two", False)
    assert reading.end(signal.SIGINT) == 0


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="a disk is made to look full by Linux alone")
def test_a_node_whose_disk_is_full_is_nothing_its_client_did_wrong(stage: Stage, tmp_path: Path) -> None:
    daemon = stage.daemon("--name", "full", "--bind", HERE, "--spool", tmp_path)
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    ran = gossamer("publish", ".news", "one", "--node", daemon.address)
    assert (ran.code, ran.stdout) == (1, "")
    assert ran.stderr.endswith("look after the disk it is on\n")


def test_several_nodes_in_one_process_are_several_nodes(stage: Stage, tmp_path: Path) -> None:
    for name in ("left", "right"):
        (tmp_path / f"{name}.toml").write_text(f'name = "{name}"\nbind = "{HERE}"\nsubscribe = ["."]\n')
    both = stage.run("node", "--config", "left.toml", "--config", "right.toml", "--json", *QUICK, cwd=tmp_path)
    told = [both.object(), both.object()]
    assert [each["name"] for each in told] == ["left", "right"]
    assert len({each["address"] for each in told} | {each["metrics"] for each in told}) == 4
    for each in told:
        assert gossamer("publish", ".x", "hi", "--node", each["address"]).code == 0
    assert both.end() == 0


def test_the_log_is_on_stderr_as_lines_or_as_json(stage: Stage) -> None:
    plain = stage.run("node", "--name", "plain", "--bind", HERE)
    assert re.match(r"20\d\d-\d\d-\d\d .* INFO gossamer.node: plain is up at ", plain.complaint("is up"))
    as_json = stage.run("node", "--name", "object", "--bind", HERE, "--log-json")
    told = json.loads(as_json.complaint("is up"))
    assert (told["level"], told["logger"]) == ("info", "gossamer.node")
    quiet = stage.daemon("--name", "quiet", "--bind", HERE, "--log-level", "error")
    assert (quiet.end(), quiet.err.get()) == (0, "")


# Reload


def test_a_reload_takes_over_what_changed_and_names_what_needs_a_restart(stage: Stage, tmp_path: Path) -> None:
    settings = tmp_path / "node.toml"
    settings.write_text(f'name = "n"\nbind = "{HERE}"\nsubscribe = [".old"]\n[trace]\nfolder = "traces"')
    daemon = stage.daemon("--config", settings)
    settings.write_text(
        f'name = "n"\nbind = "{HERE}"\nsubscribe = [".new"]\nnetwork = "other"\n'
        '[camcast]\nelectors = 3.0\n[trace]\nfolder = "traces"\nlevel = "full"'
    )
    daemon.tell(signal.SIGHUP)
    assert "n: network is another now" in daemon.complaint("restart it")
    assert daemon.complaint("n took over ").endswith("n took over subscribe, trace.level, camcast\n")
    daemon.publish(".new", "read without being asked for")
    assert daemon.payloads(".new", 1) == ["read without being asked for"]


def test_a_reload_of_a_broken_file_changes_nothing(stage: Stage, tmp_path: Path) -> None:
    settings = tmp_path / "node.toml"
    settings.write_text(f'name = "n"\nbind = "{HERE}"\nsubscribe = ["."]\n')
    daemon = stage.daemon("--config", settings)
    settings.write_text("name = ")
    daemon.tell(signal.SIGHUP)
    assert "is not TOML" in daemon.complaint("n goes on as before: ")
    daemon.publish(".x", "still there")
    assert daemon.payloads(".x", 1) == ["still there"]


def test_new_keys_serve_and_revoked_ones_do_not_after_a_reload(stage: Stage, tmp_path: Path) -> None:
    network = Network.init(tmp_path / "net")
    for name in ("one", "two", "three"):
        network.grant(name, ["."], ["."])
    keys = {name: ("--keys", network.folder_of(name)) for name in ("one", "two", "three")}
    one = stage.daemon(*keys["one"], "--bind", HERE, "--subscribe", ".")
    two = stage.daemon(*keys["two"], "--bind", HERE, "--subscribe", ".", "--seed", one.address)
    stolen = stage.run("subscribe", ".", "--node", two.address, "--from-start", *keys["three"])
    one.publish(".x", "with the old key", *keys["one"])
    assert stolen.line() == ".x  with the old key\n"

    network.grant("one", new_key=True)
    one.tell(signal.SIGHUP)
    one.complaint("one has new keys or a new grant")
    one.publish(".x", "with the new key", *keys["one"])
    assert stolen.line() == ".x  with the new key\n"

    network.revoke("three")
    one.tell(signal.SIGHUP)
    for each in (one, two):
        each.complaint("the list of revoked keys is now version 1")
    stolen.complaint("is gone")
    assert stolen.wait() == 2
    one.publish(".x", "among ourselves", *keys["one"])
    assert "among ourselves" in two.payloads(".x", 3, *keys["two"])


# Misuse


def refused(says: str, *arguments: object) -> None:
    ran = gossamer(*arguments)
    assert (ran.code, ran.stdout) == (2, ""), ran.stderr
    assert ran.stderr.startswith("gossamer: ")
    assert ran.stderr.count("\n") == 1
    assert says in ran.stderr


def test_what_keeps_a_node_from_starting_is_said_in_one_sentence(
    pair: tuple[Daemon, Daemon], stage: Stage, net: Path, tmp_path: Path
) -> None:
    here = ("node", "--name", "n", "--bind")
    refused("is taken by another program: choose another port", *here, pair[0].address)
    metrics = re.sub(r"http://|/metrics", "", pair[0].ready["metrics"])
    refused("metrics.bind: ", *here, HERE, "--set", f"metrics.bind={metrics}")
    stage.daemon("--name", "first", "--bind", HERE, "--spool", tmp_path / "spool")
    refused("belongs to another node that is running", *here, HERE, "--spool", tmp_path / "spool")
    (tmp_path / "noise").mkdir()
    (tmp_path / "noise" / "spool.sqlite").write_bytes(bytes(range(256)) * 100)
    refused("is damaged", *here, HERE, "--spool", tmp_path / "noise")
    refused("the grant of late has expired", "node", "--bind", HERE, "--keys", net / "nodes" / "late")


WRONG: dict[str, tuple[str, str]] = {
    "no name": ("name is missing", "node"),
    "no file": ("cannot read none.toml", "node --config none.toml"),
    "no keys for other machines": ("without keys whoever connects is believed", "node --name n --bind 0.0.0.0:0"),
    "one name for two": ("name cannot be the same for 2 nodes", "node --config a --config b --name n"),
    "no value": ("--set bind: write FIELD=VALUE", "node --name n --set bind"),
    "no such field": ("there is no field wind", "node --name n --set wind=1"),
    "no topic": ("must start with a dot", "subscribe soccer"),
    "no topic to publish on": ("must start with a dot", "publish soccer goal"),
    "no address": ("is not an address", "subscribe .soccer --node here"),
    "another machine": ("give --keys FOLDER", "subscribe .soccer --node 198.51.100.1:7400"),
    "no such keys": ("there is no folder nowhere", "subscribe .soccer --keys nowhere"),
    "an attribute without a value": ("write NAME=VALUE", "publish .x 1 --attribute minute"),
    "two payloads": ("not both", "publish .x 1 --file f"),
    "no such payload": ("cannot read f: No such file", "publish .x --file f"),
    "a key for many": ("--key names one event", "publish .x --key k"),
    "nobody's guest": ("a guest needs somebody", "publish .x 1 --join"),
    "a long key": ("a key has 1 to 256 letters, not 257", f"publish .x 1 --key {'k' * 257} --node {NOBODY}"),
    "a long name": ("name has 1 to 128 letters, not 129", f"subscribe .x --name {'n' * 129} --node {NOBODY}"),
    "a great attribute": ("does not fit 64 bits: use text", f"publish .x --attribute a={2**63} --node {NOBODY}"),
    "a guest's key": ("a guest has none", f"publish .x 1 --join --key k --seed {NOBODY}"),
}


@pytest.mark.parametrize(("says", "line"), WRONG.values(), ids=WRONG)
def test_misuse_is_answered_in_one_sentence(
    says: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused(says, *line.split())


def test_settings_that_do_not_say_where_the_node_listens_are_not_enough(tmp_path: Path) -> None:
    (tmp_path / "node.toml").write_text(f'name = "n"\nbind = "{HERE}"\n')
    refused("lets the node choose its port", "subscribe", ".x", "--config", tmp_path / "node.toml")


def test_an_event_that_is_too_large_is_refused_before_it_is_sent(pair: tuple[Daemon, Daemon], tmp_path: Path) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.truncate((16 << 20) + 1)
    refused("is too large", "publish", ".x", "--file", tmp_path / "large", "--node", pair[0].address)


# Weight

HEAVY = ("numpy", "pyarrow", "pyspark", "numba", "matplotlib", "pandas", "jinja2")
IMPORTED = """
import sys
from gossamer.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(*sorted(sys.modules), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["node", "--name", "n", "--bind", "127.0.0.1:0", "--subscribe", ".", "--log-level", "error"],
        ["publish", ".x", "1", "--join", "--seed", NOBODY, "--timeout", "0.1"],
        ["subscribe", ".x", "--node", NOBODY],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_live_command_loads_nothing_heavy(arguments: list[str]) -> None:
    ran = subprocess.Popen(
        [sys.executable, "-c", IMPORTED, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert ran.stdout is not None
    assert ran.stderr is not None
    with ran.stdout, ran.stderr:
        if arguments[0] == "node":
            assert ran.stdout.readline()
            ran.send_signal(signal.SIGTERM)
        loaded = ran.stderr.read().split()
        assert ran.wait() == 0
    assert "gossamer.live.node" in loaded
    assert [name for name in HEAVY if name in loaded] == []
