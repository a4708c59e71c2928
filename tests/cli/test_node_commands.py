"""Nodes as daemons, and the commands that attach to them: real processes, real sockets, real signals."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.processes import QUICK, Daemon, Stage, command, environment, fed, gossamer, staged
from gossamer.live.keys.network import Network

HERE = "127.0.0.1:0"
NOBODY = "127.0.0.1:1"
"An address where nobody listens."


@pytest.fixture
def stage() -> Iterator[Stage]:
    with staged() as stage:
        yield stage


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Daemon, Daemon]]:
    """Two nodes without keys, of which the second reads everything into its spool."""
    with staged() as stage:
        one = stage.daemon("--name", "one", "--bind", HERE)
        yield one, stage.daemon("--name", "two", "--bind", HERE, "--seed", one.address, "--subscribe", ".")


# Publishing and reading


def test_what_is_published_at_one_node_is_printed_at_another(pair: tuple[Daemon, Daemon]) -> None:
    one, two = pair
    one.publish(".soccer.italy", "goal")
    read = gossamer("subscribe", ".soccer", "--node", two.address, "--from-start", "--count", 1)
    assert (read.code, read.stdout, read.stderr) == (0, ".soccer.italy  goal\n", "")


def test_each_line_of_stdin_is_an_event_in_the_order_it_came(pair: tuple[Daemon, Daemon]) -> None:
    one, two = pair
    ran = fed(b"first\n\nthird\nlast without its end", "publish", ".lines", "--node", one.address, "--json")
    ids = [json.loads(line)["id"] for line in ran.stdout.splitlines()]
    assert (ran.code, ran.stderr, len(set(ids))) == (0, "", 4)
    read = two.events(".lines", 4, "--ordered")
    assert [each["payload"] for each in read] == ["first", "", "third", "last without its end"]
    assert [each["id"] for each in read] == ids


def test_more_lines_than_may_be_under_way_at_once_all_arrive(pair: tuple[Daemon, Daemon]) -> None:
    one, two = pair
    lines = [str(number) for number in range(2000)]
    ran = fed("\n".join(lines).encode(), "publish", ".many", "--node", one.address)
    assert (ran.code, ran.stdout, ran.stderr) == (0, "", "")
    assert sorted(two.payloads(".many", 2000), key=int) == lines


def test_json_tells_all_about_an_event(pair: tuple[Daemon, Daemon]) -> None:
    one, two = pair
    attributes = ["minute=88", "share=0.5", "home=true", "score=2:1", 'shirt="10"', "empty="]
    one.publish(".json", "goal ⚽", *(word for each in attributes for word in ("--attribute", each)))
    (told,) = two.events(".json", 1)
    assert re.fullmatch(r"\d+-\d+-\d+", told.pop("id"))
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00", told.pop("published"))
    assert told.pop("place") > 0
    assert told == {
        "topic": ".json",
        "payload": "goal ⚽",
        "attributes": {"minute": 88, "share": 0.5, "home": True, "score": "2:1", "shirt": "10", "empty": ""},
        "hops": 1,
        "redelivered": False,
    }


def test_what_is_no_text_or_would_steer_a_terminal_is_shown_as_base64(
    pair: tuple[Daemon, Daemon], tmp_path: Path
) -> None:
    one, two = pair
    (tmp_path / "data").write_bytes(b"\x00\xff\n")
    ran = gossamer("publish", ".binary", "--file", tmp_path / "data", "--node", one.address)
    assert ran.code == 0
    one.publish(".binary", "\x1b[2J")
    read = gossamer("subscribe", ".binary", "--node", two.address, "--from-start", "--count", 2, "--ordered")
    assert read.stdout == ".binary  base64:AP8K\n.binary  base64:G1sySg==\n"
    assert [each["payload_base64"] for each in two.events(".binary", 2, "--ordered")] == ["AP8K", "G1sySg=="]


def test_the_same_key_is_the_same_event(pair: tuple[Daemon, Daemon]) -> None:
    ids = [gossamer("publish", ".keyed", "goal", "--key", "g1", "--node", pair[0].address, "--json") for _ in range(2)]
    assert ids[0].stdout == ids[1].stdout != ""


def test_a_named_reader_goes_on_behind_what_it_printed(pair: tuple[Daemon, Daemon]) -> None:
    one, two = pair
    fed(b"1\n2\n3\n", "publish", ".named", "--node", one.address)
    two.payloads(".named", 3)
    read = [two.events(".named", 1, "--name", "billing")[0] for _ in range(3)]
    assert sorted(each["payload"] for each in read) == ["1", "2", "3"]
    assert sorted(each["place"] for each in read) == [each["place"] for each in read]
    assert not read[0]["redelivered"]


def test_a_reader_that_has_enough_is_no_error(pair: tuple[Daemon, Daemon]) -> None:
    one, two = pair
    one.publish(".pipe", "goal")
    reading = subprocess.Popen(
        command("subscribe", ".pipe", "--node", two.address, "--from-start"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert reading.stdout is not None
    assert reading.stderr is not None
    with reading.stdout, reading.stderr:
        assert reading.stdout.readline() == b".pipe  goal\n"
        reading.stdout.close()  # as head -1 does; no further event is needed for it to be noticed
        assert (reading.wait(20), reading.stderr.read()) == (0, b"")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_reader_ends_well_when_it_is_told_to(number: int, pair: tuple[Daemon, Daemon], stage: Stage) -> None:
    one, two = pair
    one.publish(".stopped", "goal")
    reading = stage.run("subscribe", ".stopped", "--node", two.address, "--from-start")
    assert reading.line() == ".stopped  goal\n"
    assert reading.end(number) == 0
    assert reading.err.get() == ""


def test_too_few_events_in_time_are_a_bad_verdict(pair: tuple[Daemon, Daemon]) -> None:
    read = gossamer("subscribe", ".quiet", "--node", pair[1].address, "--count", 1, "--timeout", 0.2)
    assert (read.code, read.stdout) == (1, "")
    assert read.stderr == "gossamer: only 0 of 1 events came within 0.2 s\n"
    assert gossamer("subscribe", ".quiet", "--node", pair[1].address, "--timeout", 0.2).code == 0


# Without a daemon


def test_a_guest_is_done_once_members_have_the_event(pair: tuple[Daemon, Daemon], tmp_path: Path) -> None:
    one, two = pair
    two.payloads(".soccer", 1)
    for seed in (one.address, two.address):
        ran = gossamer("publish", ".guest", "hello", "--node", NOBODY, "--seed", seed)
        assert ran.code == 0, ran.stderr
        assert ran.stderr == f"gossamer: no node answers at {NOBODY}: publishing as a guest through {seed}\n"
    (tmp_path / "node.toml").write_text(f'name = "n"\nbind = "{NOBODY}"\nseeds = ["{one.address}"]\n')
    assert gossamer("publish", ".guest", "hello", "--config", tmp_path / "node.toml").code == 0
    assert two.payloads(".guest", 3) == ["hello"] * 3


def test_a_guest_that_finds_no_member_says_so(stage: Stage) -> None:
    alone = stage.daemon("--name", "alone", "--bind", HERE)
    ran = gossamer("publish", ".guest", "hello", "--join", "--seed", alone.address, "--timeout", 0.5)
    assert (ran.code, ran.stdout) == (1, "")
    assert ran.stderr == (
        "gossamer: nobody takes part in .guest yet, so nobody could take the event: subscribe first\n"
    )


def test_a_guest_whom_no_seed_answers_says_so() -> None:
    ran = gossamer("publish", ".guest", "hello", "--join", "--seed", NOBODY, "--timeout", 0.2)
    assert (ran.code, ran.stderr) == (
        1,
        f"gossamer: none of the seeds answers ({NOBODY}): start one, or name others\n",
    )


def test_without_a_node_and_without_seeds_it_is_said_what_to_do(tmp_path: Path) -> None:
    ran = gossamer("publish", ".soccer", "goal", "--node", NOBODY)
    assert (ran.code, ran.stderr.count("\n")) == (1, 1)
    assert "start a node with `gossamer node`, or name one to be a guest of with --seed" in ran.stderr
    ran = gossamer("subscribe", ".soccer", "--node", NOBODY)
    assert (ran.code, ran.stderr.count("\n")) == (1, 1)
    assert "start a node with `gossamer node`, or say where one listens with --node" in ran.stderr


# Keys


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys") / "net"
    network = Network.init(folder)
    for name in ("one", "two", "three"):
        network.grant(name, [".soccer"], [".soccer"])
    network.grant("writer", [".soccer"])
    network.grant("late", [".soccer"], days=1, now_s=time.time() - 3 * 86400)
    return folder


@pytest.fixture(scope="module")
def safe_pair(net: Path) -> Iterator[tuple[Daemon, Daemon]]:
    """Two nodes with keys."""
    with staged() as stage:
        one = stage.daemon("--keys", net / "nodes" / "one", "--bind", HERE, "--subscribe", ".soccer")
        two = ("--keys", net / "nodes" / "two", "--bind", HERE, "--seed", one.address, "--subscribe", ".soccer")
        yield one, stage.daemon(*two)


def test_with_keys_events_travel_over_tls_between_nodes_and_clients(
    safe_pair: tuple[Daemon, Daemon], net: Path
) -> None:
    one, two = safe_pair
    one.publish(".soccer.italy", "goal", "--keys", net / "nodes" / "one")
    one.publish(".soccer.italy", "goal", "--keys", net / "nodes" / "three")
    assert two.payloads(".soccer", 2, "--keys", net / "nodes" / "two") == ["goal", "goal"]


def test_a_guest_that_may_only_publish_hands_its_events_over(safe_pair: tuple[Daemon, Daemon], net: Path) -> None:
    one, two = safe_pair
    keys = ("--keys", net / "nodes" / "writer")
    ran = gossamer("publish", ".soccer.guest", "hello", "--join", "--seed", one.address, *keys)
    assert (ran.code, ran.stderr) == (0, "")
    assert two.payloads(".soccer.guest", 1, "--keys", net / "nodes" / "two") == ["hello"]


def test_a_client_may_do_what_its_own_grant_says(safe_pair: tuple[Daemon, Daemon], net: Path) -> None:
    writer = ("--node", safe_pair[0].address, "--keys", net / "nodes" / "writer")
    ran = gossamer("subscribe", ".soccer", *writer)
    assert (ran.code, ran.stderr) == (2, "gossamer: the grant of writer does not let it subscribe on .soccer\n")
    ran = gossamer("publish", ".tennis", "ace", *writer)
    assert (ran.code, ran.stderr) == (2, "gossamer: the grant of writer does not let it publish on .tennis\n")


def test_without_keys_nobody_gets_in_and_with_keys_nobody_out(
    safe_pair: tuple[Daemon, Daemon], pair: tuple[Daemon, Daemon], net: Path
) -> None:
    ran = gossamer("publish", ".soccer", "goal", "--node", safe_pair[0].address)
    assert (ran.code, ran.stderr.count("\n")) == (1, 1)
    assert "did not take us as its client" in ran.stderr
    assert "(if its network has keys, attach with yours)" in ran.stderr
    ran = gossamer("publish", ".soccer", "goal", "--node", pair[0].address, "--keys", net / "nodes" / "one")
    assert (ran.code, ran.stderr) == (
        1,
        f"gossamer: the node at {pair[0].address} has no keys, or does not take ours\n",
    )


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


def test_a_node_serves_its_numbers_and_its_health(pair: tuple[Daemon, Daemon]) -> None:
    one, two = pair
    one.publish(".numbers", "1")
    two.payloads(".numbers", 1)
    status, page = two.page("/metrics")
    assert status == 200
    assert 'gossamer_deliveries_total{topic=".numbers"} 1\n' in page
    status, health = two.page("/healthz")
    assert (status, json.loads(health)["name"], json.loads(health)["address"]) == (200, "two", two.address)


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
