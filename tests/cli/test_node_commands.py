"""Publishing and reading through nodes that run as daemons: real processes, real sockets, with keys and without."""

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest

from cli.processes import HERE, NOBODY, Daemon, Stage, command, environment, fed, gossamer

# Publishing and reading


def test_what_is_published_at_one_node_is_printed_at_another(pair: tuple[Daemon, Daemon]) -> None:
    one, two = pair
    one.publish(".soccer.italy", "goal")
    read = gossamer("subscribe", ".soccer", "--node", two.address, "--from-start", "--count", 1)
    assert (read.code, read.stdout, read.stderr) == (0, ".soccer.italy  goal\n", "")


@pytest.mark.parametrize("payload", [(), ("-",)])
def test_each_line_of_stdin_is_an_event_in_the_order_it_came(
    pair: tuple[Daemon, Daemon], payload: tuple[str, ...]
) -> None:
    one, two = pair
    topic = f".lines.{len(payload)}"
    ran = fed(b"first\n\nthird\nlast without its end", "publish", topic, *payload, "--node", one.address, "--json")
    ids = [json.loads(line)["id"] for line in ran.stdout.splitlines()]
    assert (ran.code, ran.stderr, len(set(ids))) == (0, "", 4)
    read = two.events(topic, 4, "--ordered")
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


def test_attributes_are_shown_in_any_script_but_do_not_steer_a_terminal(pair: tuple[Daemon, Daemon]) -> None:
    one, two = pair
    one.publish(".odd", "x", "--attribute", "größe=日本", "--attribute", "\x1b[31m=\x1b[2J", "--attribute", "far=1e400")
    read = gossamer("subscribe", ".odd", "--node", two.address, "--from-start", "--count", 1)
    assert read.stdout == '.odd  x  größe="日本"  "\\u001b[31m"="\\u001b[2J"  far=Infinity\n'
    (told,) = two.events(".odd", 1)
    assert told["attributes"] == {"größe": "日本", "\x1b[31m": "\x1b[2J", "far": None}


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


def test_two_terminals_with_one_name_share_the_work(pair: tuple[Daemon, Daemon]) -> None:
    one, two = pair
    reading = [
        subprocess.Popen(
            command("subscribe", ".shared", "--name", "team", "--node", two.address, "--timeout", 60, "--count", 10),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
            text=True,
        )
        for _ in range(2)
    ]
    while True:
        listed = gossamer("subscriptions", "show", "team", "--node", two.address, "--json")
        if listed.code == 0 and json.loads(listed.stdout)["readers"] == 2:
            break
    fed("\n".join(map(str, range(20))).encode(), "publish", ".shared", "--node", one.address)
    said = [process.communicate(timeout=60)[0].split("\n")[:-1] for process in reading]
    assert sorted(int(line.split()[1]) for some in said for line in some) == [*range(20)]
    told = json.loads(gossamer("subscriptions", "show", "team", "--node", two.address, "--json").stdout)
    assert (told["owner"], told["topic"], told["behind"], told["readers"]) == ("local", ".shared", 0, 0)
    assert "team" in gossamer("subscriptions", "--node", two.address).stdout
    assert gossamer("subscriptions", "delete", "team", "--node", two.address).code == 0
    gone = gossamer("subscriptions", "show", "team", "--node", two.address)
    assert (gone.code, gone.stdout) == (2, "")
    assert gone.stderr.startswith("gossamer: there is no subscription 'team'")


def test_two_identities_with_one_name_never_meet(safe_pair: tuple[Daemon, Daemon], net: Path) -> None:
    one, two = safe_pair
    at = ("--node", two.address, "--keys")
    for who in ("three", "one"):
        read = ["subscribe", ".soccer", "--name", "billing", "--timeout", 0.3, *at, net / "nodes" / who]
        assert gossamer(*read).stdout == ""
    fed(b"1\n2\n", "publish", ".soccer", "--node", one.address, "--keys", net / "nodes" / "one")
    for who in ("three", "one"):
        keys = (*at, net / "nodes" / who)
        read = gossamer("subscribe", ".soccer", "--name", "billing", "--count", 2, "--timeout", 60, *keys)
        assert sorted(read.stdout.splitlines()) == [".soccer  1", ".soccer  2"]
        mine = json.loads(gossamer("subscriptions", "--json", *keys).stdout)
        assert [(each["owner"], each["name"], each["behind"]) for each in mine] == [(who, "billing", 0)]
    refused = gossamer("subscriptions", "delete", "billing", "--owner", "one", *at, net / "nodes" / "three")
    assert refused.code == 2
    assert "there is no subscription 'billing' of one that three could see: `gossamer subscr" in refused.stderr
    all_of_them = gossamer("subscriptions", "--json", *at, net / "nodes" / "two")
    assert [each["owner"] for each in json.loads(all_of_them.stdout)] == ["one", "three"]


def test_a_reader_prints_only_what_matches_its_filter(pair: tuple[Daemon, Daemon]) -> None:
    one, two = pair
    quotes = [("IBM", "101"), ("IBM", "99"), ("SAP", '"120"'), ("SAP", "120"), ("XYZ", "500")]
    for symbol, price in quotes:
        one.publish(".stocks", f"{symbol} {price}", "--attribute", f"symbol={symbol}", "--attribute", f"price={price}")
    where = 'symbol in ("IBM", "SAP") and price > 100 and not halted'
    read = two.events(".stocks", 2, "--where", where, "--ordered")
    assert [each["payload"] for each in read] == ["IBM 101", "SAP 120"]
    named = [two.events(".stocks", 1, "--where", where, "--name", "quotes")[0]["payload"] for _ in range(2)]
    assert sorted(named) == ["IBM 101", "SAP 120"]


def test_a_filter_that_is_none_is_pointed_at_before_anybody_is_called() -> None:
    read = gossamer("subscribe", ".stocks", "--where", "price >", "--node", NOBODY)
    assert (read.code, read.stdout) == (2, "")
    assert read.stderr.startswith("gossamer: filter, character 8: expected a number")


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


def test_waiting_says_how_many_members_have_the_event(pair: tuple[Daemon, Daemon]) -> None:
    one, two = pair
    one.publish(".before", "so they know each other")
    two.payloads(".before", 1)
    ran = gossamer("publish", ".soccer", "goal", "--node", one.address, "--wait", "--timeout", 60)
    assert (ran.code, ran.stderr) == (0, "")
    assert re.fullmatch(r"on disk at \d+ members, in memory at \d+\n", ran.stdout)


def test_waiting_where_nobody_is_ends_with_one_sentence_and_the_event_stays(stage: Stage) -> None:
    alone = stage.daemon("--name", "alone", "--bind", HERE)
    ran = gossamer("publish", ".x", "hello", "--node", alone.address, "--wait", "--timeout", 0.2, "--json")
    assert (ran.code, len(ran.stdout.splitlines())) == (1, 1)
    assert ran.stderr == (
        "gossamer: 1 of 1 events are not with enough members after 0.2 s: they stay in the outbox of the node, which "
        "goes on offering them\n"
    )
    ran = gossamer("publish", ".x", "hello", "--join", "--seed", alone.address, "--wait", "--timeout", 0.3)
    assert (ran.code, ran.stdout, ran.stderr.count("\n")) == (1, "", 1)


# Without a daemon


def test_a_guest_is_done_once_members_have_the_event(pair: tuple[Daemon, Daemon], tmp_path: Path) -> None:
    one, two = pair
    one.publish(".before", "so they know each other")
    two.payloads(".before", 1)
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


def test_with_keys_events_travel_over_tls_between_nodes_and_clients(
    safe_pair: tuple[Daemon, Daemon], net: Path
) -> None:
    one, two = safe_pair
    one.publish(".soccer.italy", "goal", "--keys", net / "nodes" / "one")
    one.publish(".soccer.italy", "goal", "--keys", net / "nodes" / "three")
    assert two.payloads(".soccer.italy", 2, "--keys", net / "nodes" / "two") == ["goal", "goal"]


def test_a_guest_that_may_only_publish_hands_its_events_over(safe_pair: tuple[Daemon, Daemon], net: Path) -> None:
    one, two = safe_pair
    keys = ("--keys", net / "nodes" / "writer")
    ran = gossamer("publish", ".soccer.guest", "hello", "--join", "--seed", one.address, *keys)
    assert (ran.code, ran.stderr) == (0, "")
    assert two.payloads(".soccer.guest", 1, "--keys", net / "nodes" / "two") == ["hello"]


def test_a_client_may_do_what_its_own_grant_says(safe_pair: tuple[Daemon, Daemon], net: Path) -> None:
    writer = ("--node", safe_pair[0].address, "--keys", net / "nodes" / "writer")
    ran = gossamer("subscribe", ".soccer", *writer)
    assert ran.code == 2
    assert "the grant of writer does not let it subscribe to .soccer: `gossamer keys grant NETWORK" in ran.stderr
    ran = gossamer("publish", ".tennis", "ace", *writer)
    assert ran.code == 2
    assert "does not let it publish on .tennis: nothing was handed to it" in ran.stderr


def test_without_keys_nobody_gets_in_and_with_keys_nobody_out(
    safe_pair: tuple[Daemon, Daemon], pair: tuple[Daemon, Daemon], net: Path
) -> None:
    ran = gossamer("publish", ".soccer", "goal", "--node", safe_pair[0].address)
    assert (ran.code, ran.stderr.count("\n")) == (1, 1)
    assert "did not take us as its client" in ran.stderr
    assert ": if its network has keys, attach with yours" in ran.stderr
    ran = gossamer("publish", ".soccer", "goal", "--node", pair[0].address, "--keys", net / "nodes" / "one")
    assert ran.code == 1
    assert f"the node at {pair[0].address} has no keys, or does not take ours: attach with those" in ran.stderr
