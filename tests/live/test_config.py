"""A node's settings: three places, the later winning, and every mistake told where it was made."""

import re
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import gossamer
from gossamer.core.errors import Misuse, SpecError
from gossamer.live.config.changes import RELOADABLE, RELOADABLE_FIELDS, changes
from gossamer.live.config.config import BY_TOPIC, TABLES, Config, load, read
from gossamer.live.config.reading import NOT_SETTINGS, value_of
from gossamer.live.config.tables import Limits, SpoolConfig, TraceConfig
from gossamer.live.running.reloading import merged
from gossamer.protocols.camcast.params import Params
from gossamer.protocols.hpmcast.params import Params as HpmcastParams
from gossamer.protocols.recovery.params import Params as RecoveryParams
from gossamer.wire.frame import Hello, hello_frame, read_hello

EXAMPLE = (files("gossamer") / "live" / "node.toml").read_text()
NAMED = {"name": "n"}
PROTOCOLS = ("dispatch", "spidercast", "interests", "flood", "hpmcast", "upkeep", "scamp", "search", "pgrid")
"Tables whose fields are told elsewhere."


def written(folder: Path, text: str) -> Path:
    path = folder / "node.toml"
    path.write_text(text)
    return path


def from_file(folder: Path, text: str) -> Config:
    return load(written(folder, text), environ={})


def from_flags(**fields: object) -> Config:
    return load(None, {}, NAMED | fields)


def refusal(path: Path | None = None, environ: dict[str, str] | None = None, flags: Any = None) -> str:
    with pytest.raises((SpecError, Misuse)) as refused:
        load(path, environ or {}, flags)
    assert refused.type is (SpecError if path or environ else Misuse)
    assert "\n" not in str(refused.value)
    return str(refused.value)


# Where values come from


def test_without_a_word_a_node_stays_on_loopback_keeps_events_in_memory_and_uses_the_live_preset() -> None:
    config = Config(name="n")
    assert (config.bind, config.keys, config.spool.folder, config.trace.folder) == ("127.0.0.1:7400", None, None, None)
    assert config.camcast == Params.live()
    assert load(None, {}, NAMED) == config


def test_the_environment_wins_over_the_file_and_flags_over_both(tmp_path: Path) -> None:
    path = written(tmp_path, 'name = "n"\nbind = "127.0.0.1:1"\nnetwork = "one"\n[limits]\ninbox_items = 1')
    environ = {"GOSSAMER_BIND": "127.0.0.1:2", "GOSSAMER_LIMITS__INBOX_ITEMS": "2", "PATH": "elsewhere"}
    config, sources = read(path, environ, {"bind": "127.0.0.1:3", "seeds": None})
    assert (config.network, config.limits.inbox_items, config.bind) == ("one", 2, "127.0.0.1:3")
    assert config.limits.inbox_bytes == Limits().inbox_bytes
    assert sources == {
        "name": str(path),
        "network": str(path),
        "limits.inbox_items": "GOSSAMER_LIMITS__INBOX_ITEMS",
        "bind": "--set bind",
    }


def test_the_environment_of_this_process_is_read_unless_another_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOSSAMER_NAME", "from-here")
    assert load().name == "from-here"
    assert load(environ={}, overrides=NAMED).name == "n"


@pytest.mark.parametrize(
    ("hint", "text", "value"),
    [
        (str, "7400", "7400"),
        (str, '"quoted"', "quoted"),
        (str, "a 'b'", "a 'b'"),
        (int, "5", 5),
        (int, "many", "many"),
        (float, "2.5", 2.5),
        (bool, "true", True),
        (tuple[str, ...], ".a, .b,", [".a", ".b"]),
        (tuple[str, ...], '[".a"]', [".a"]),
        (tuple[str, ...], "", []),
        (tuple[int, ...], "16, 8", [16, 8]),
        (tuple[int, ...], "16", [16]),
        (Path | None, "2024", "2024"),
    ],
)
def test_a_variable_is_what_its_field_wants(hint: Any, text: str, value: object) -> None:
    assert value_of(text, hint) == value


def test_whole_tables_and_single_topics_can_be_set_from_outside() -> None:
    environ = {"GOSSAMER_HIERARCHY__PARENTS": '{".a.b" = [".c"]}', "GOSSAMER_SPOOL": '{folder = "s", keep_s = 60}'}
    config = load(None, environ, NAMED | {'topics.".a".fanout_extra': "7", "subscribe": [".a", ".b"]})
    assert config.hierarchy.order().includes(".c", ".a.b")
    assert config.spool == SpoolConfig(folder=Path.cwd() / "s", keep_s=60.0)
    assert config.params_of(".a") == structs.replace(Params.live(), fanout_extra=7.0)
    assert config.params_of(".b") == Params.live()
    assert config.subscribe == (".a", ".b")


def test_tables_made_in_python_are_as_good_as_their_fields() -> None:
    spool, limits, params = SpoolConfig(keep_s=5), Limits(links_max=3), structs.replace(Params.live(), electors=3.0)
    said = {"spool": spool, "limits": limits, "camcast": params, "topics": {".a": Params.camcast()}}
    config = load(None, {"GOSSAMER_SPOOL__KEEP_S": "9"}, NAMED | said)
    assert config == Config(name="n", spool=spool, limits=limits, camcast=params, topics={".a": Params.camcast()})


def test_paths_are_relative_to_the_file_that_names_them_and_an_empty_one_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "etc").mkdir()
    path = written(tmp_path / "etc", 'name = "n"\nkeys = "keys/n"\n[spool]\nfolder = "../spool"\n[trace]\nfolder = "t"')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    config = load(path.relative_to(tmp_path), {"GOSSAMER_TRACE__FOLDER": ""}, {"keys": "~/keys"})
    assert (config.keys, config.trace.folder) == (tmp_path / "me" / "keys", None)
    assert config.spool.folder == tmp_path / "etc" / ".." / "spool"


def test_a_topic_takes_a_preset_then_the_general_fields_then_its_own(tmp_path: Path) -> None:
    text = 'name = "n"\n[camcast]\nlinks = 5\n[topics.".a"]\npreset = "camcast"\nelectors = 7'
    config = from_file(tmp_path, text)
    assert config.camcast == structs.replace(Params.live(), links=5)
    assert config.params_of(".a") == structs.replace(Params.camcast(), links=5, electors=7.0)


# What is refused


def test_a_node_without_a_name_is_refused_unless_its_keys_have_one(tmp_path: Path) -> None:
    assert refusal() == 'name is missing: give the node one of its own, like name = "node-7"'
    assert f"{tmp_path / 'node.toml'}: name is missing" in refusal(written(tmp_path, ""))
    assert load(None, {}, {"keys": tmp_path}).name == ""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("bindd = 3", "there is no field bindd; did you mean bind?"),
        ("folder = 'x'", "there is no field folder; did you mean spool.folder?"),
        ("[spol]\nfolder = 'x'", "there is no field spol; did you mean spool?"),
        ("[spool]\nfoldr = 'x'", "there is no field spool.foldr; did you mean spool.folder?"),
        ("[trace]\ncolour = 'x'", "there is no field trace.colour; trace has folder, level"),
        ("[hpmcast]\npreset = 'paper'", "there is no field hpmcast.preset; hpmcast has variant, delegates, "),
        ("[topics.'.a']\nlinkz = 3", 'there is no field topics.".a".linkz; did you mean topics.".a".links?'),
        ("spool = 3", "spool must be a table, not the number 3"),
        ("bind = 7400", "bind must be text, not a whole number"),
        ("keys = 7", "keys must be text, not a whole number"),
        ("seeds = 'localhost:1'", "seeds must be a list, not text"),
        ("seeds = [1]", "each of seeds must be text, not a whole number"),
        ("[limits]\nclients_max = true", "limits.clients_max must be a whole number, not true or false"),
        ("[limits]\nclients_max = 0", "limits.clients_max must be above 0, not 0"),
        ("[limits]\nevent_bytes_max = 16777217", "limits.event_bytes_max must be at most 16777216 (16 MiB), not 1677"),
        ("[limits]\nframe_bytes = 10", "limits.frame_bytes must be 4096 to 1048576, not 10"),
        ("[timeouts]\ndial_s = inf", "timeouts.dial_s must be above 0, not inf"),
        ("[timeouts]\nidle_s = nan", "timeouts.idle_s must be above 0, not nan"),
        ("[spool]\ndurability = 'disc'", "spool.durability must be process, disk or off, not 'disc'"),
        ("[spool]\ndurability = 'disk'", 'spool.durability "disk" needs a folder: memory does not survive'),
        ("[trace]\nlevel = 'all'", "trace.level must be off, deliveries, full or journal, not 'all'"),
        ("[metrics]\nbind = 'on'", "metrics.bind: 'on' is not an address: write host:port"),
        ("[camcast]\npreset = 'fast'", "camcast.preset must be live, camcast or damulticast, not 'fast'"),
        ("[camcast]\nlinks = 0", "camcast.links must be at least 1, not 0: events could never climb"),
        ("[camcast]\nlinks = 2.5", "camcast.links must be a whole number, not a number"),
        ("[topics.'.a']\nlinks = 0", 'topics.".a".links must be at least 1, not 0'),
        ("[topics.a]\nlinks = 9", "topics: topic 'a' must start with a dot, like '.a'"),
        ("[scamp]\ntries = 0", "scamp.tries must be at least 1, not 0"),
        ("[search]\nttl = 0", "search.neighbours, ttl, answers and acquaintances must each be at least 1"),
        ("[search]\nttl = 200", "search.neighbours must be at most 3 and ttl at most 4: a search would flood"),
        ("[hierarchy]\nparents = {'.a' = ['.a.b']}", "hierarchy.parents: topics include each other in a circle"),
        ("[hierarchy]\nparents = {'.a' = '.b'}", "must be a list, not text"),
        ("subscribe = ['soccer']", "subscribe: topic 'soccer' must start with a dot, like '.soccer'"),
        ("publish = ['.a b']", "publish: topic '.a b' has a space"),
        ("network = ''", "network must be up to 64 letters, digits, '.', '_' or '-', not ''"),
        ("bind = '7400'", "bind: '7400' is not an address: write host:port"),
        ("bind = '::1:7400'", "bind: '::1:7400' is not an address: put an IPv6 host in brackets"),
        ("seeds = ['localhost:0']", "seeds: localhost:0 has no port that could be called"),
        ("bind = '0.0.0.0:7400'", "bind is 0.0.0.0:7400, which other machines can reach, but without keys whoever "
         "connects is believed: set keys (made with `gossamer keys`), or bind to 127.0.0.1"),
        ("bind = 'example.org:7400'", "bind is example.org:7400, which other machines can reach"),
        ("seeds = ['10.0.0.1:7400']", "seeds names 10.0.0.1:7400, which is not this machine, but without keys"),
        ("advertise = ['10.0.0.1:7400']", "advertise names 10.0.0.1:7400, which is not this machine"),
        ("bind = '0.0.0.0:1'\nkeys = 'k'", "advertise is missing: bind is 0.0.0.0:1, which tells nobody where to call"),
        ("bind = '[::]:1'\nkeys = 'k'", "advertise is missing: bind is [::]:1"),
        ("advertise = ['0.0.0.0:1']\nkeys = 'k'", "advertise names 0.0.0.0:1, where nobody can be reached"),
        (f"advertise = {['h:1'] * 9}\nkeys = 'k'", "advertise has 9 addresses: name the best 8"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_told_by_file_and_field(text: str, says: str, tmp_path: Path) -> None:
    path = written(tmp_path, f'name = "n"\n{text}')
    refused = refusal(path)
    assert refused.startswith(f"{path}: ")
    assert says in refused


@pytest.mark.parametrize("name", ["a b", "-a", "ü", "x" * 65, "a/b"])
def test_a_name_is_short_and_plain(name: str) -> None:
    assert "name must be up to 64 letters" in refusal(flags={"name": name})


@pytest.mark.parametrize(
    ("variable", "text", "says"),
    [
        ("GOSSAMER_SPOOL_FOLDER", "x", "there is no field spool_folder; did you mean GOSSAMER_SPOOL__FOLDER?"),
        ("GOSSAMER_PORT", "1", "there is no field port; a node has name, network, bind, "),
        ("GOSSAMER_LIMITS__INBOX_ITEMS", "many", "limits.inbox_items must be a whole number, not text"),
        ("GOSSAMER_LIMITS__INBOX_ITEMS", "0", "limits.inbox_items must be above 0, not 0"),
        ("GOSSAMER_SPOOL", "x", "spool must be a table, not the text 'x'"),
        ("GOSSAMER_BIND__PORT", "1", "bind must be text, not a table"),
        ("GOSSAMER_BIND", "0.0.0.0:1", "bind is 0.0.0.0:1, which other machines can reach"),
        ("GOSSAMER_CAMCAST__LINKS", "3", "camcast.targets must be above 0 and at most links (3), not 4.0"),
    ],
)
def test_a_wrong_variable_is_told_by_its_name(variable: str, text: str, says: str, tmp_path: Path) -> None:
    path = written(tmp_path, 'name = "n"\nbind = "127.0.0.1:1"')
    assert refusal(path, {variable: text}).startswith(f"{variable}: {says}")


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ({"seeds": ["nowhere"]}, "seeds: 'nowhere' is not an address"),
        ({"limits.inbox_items": "-1"}, "limits.inbox_items must be above 0, not -1"),
        ({"bind": "0.0.0.0:1"}, "bind is 0.0.0.0:1, which other machines can reach"),
        ({"limitz": {}}, "there is no field limitz; did you mean limits?"),
        ({"limits": {"linksmax": 1}}, "there is no field limits.linksmax; did you mean limits.links_max?"),
        ({"limits": 3}, "limits must be a table, not the number 3"),
        ({"a..b": 1}, "'a..b' is not a field name, like limits.inbox_items"),
        ({"two words": 1}, "'two words' is not a field name, like limits.inbox_items"),
        ({"spool.": 1}, "'spool.' is not a field name, like limits.inbox_items"),
    ],
)
def test_a_wrong_flag_is_told_by_its_field(flags: dict[str, object], says: str) -> None:
    assert refusal(flags=NAMED | flags).startswith(says)


def test_a_file_that_cannot_be_read_or_is_no_toml_is_said_so(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none.toml").endswith(
        "none.toml (No such file or directory): write one with `gossamer config new > node.toml`"
    )
    assert "Is a directory" in refusal(tmp_path)
    assert "node.toml is not TOML: " in refusal(written(tmp_path, "name = "))
    (tmp_path / "noise.toml").write_bytes(bytes(range(256)))
    assert refusal(tmp_path / "noise.toml").endswith("noise.toml is not text: a node's configuration is TOML")


def test_settings_made_in_python_are_refused_like_those_of_a_file() -> None:
    with pytest.raises(Misuse, match=r"bind is 0.0.0.0:1, which other machines can reach"):
        Config(name="n", bind="0.0.0.0:1")
    with pytest.raises(Misuse, match=r"subscribe must be a list, not the text '.a'"):
        Config(name="n", subscribe=".a")  # type: ignore[arg-type]
    with pytest.raises(Misuse, match="links_max must be above 0"):
        Limits(links_max=0)
    made = Config(name="n", keys="k", subscribe=[".a"], spool=SpoolConfig(folder="s"))  # type: ignore[arg-type]
    assert (made.keys, made.subscribe, made.spool.folder) == (Path("k"), (".a",), Path("s"))


@pytest.mark.parametrize("bind", ["127.0.0.1:0", "127.9.9.9:1", "[::1]:7400", "localhost:7400", "memory:3"])
def test_without_keys_loopback_is_fine_by_any_of_its_names(bind: str) -> None:
    assert from_flags(bind=bind, seeds=[bind] if not bind.endswith(":0") else []).bind == bind


# Where others are told to call


def test_what_is_advertised_is_what_was_bound_unless_it_was_said(tmp_path: Path) -> None:
    assert from_flags().advertised("127.0.0.1:4711") == ("127.0.0.1:4711",)
    said = from_flags(keys=tmp_path, bind="[::]:0", advertise="node.example:0,[2001:db8::1]:0,10.0.0.1:7400")
    assert said.advertised("[::]:4711") == ("node.example:4711", "[2001:db8::1]:4711", "10.0.0.1:7400")


# Changing while a node runs


def test_what_can_change_while_running_is_told_apart_from_what_cannot() -> None:
    old = from_flags()
    new = load(
        None,
        {},
        {
            "name": "m",
            "bind": "127.0.0.1:1",
            "seeds": "127.0.0.1:2",
            "subscribe": ".a",
            "spool.folder": "s",
            "spool.keep_s": 5,
            "trace.folder": "t",
            "trace.level": "full",
            "metrics.bind": "off",
            "limits.inbox_items": 7,
            "camcast.electors": 3,
            'topics.".a".electors': 4,
            "scamp.tries": 5,
            "search.ttl": 3,
            "hierarchy.parents": {".a": [".b"]},
        },
    )
    now, later = changes(old, new)
    assert now == {
        "seeds": ("127.0.0.1:2",),
        "subscribe": (".a",),
        "spool.keep_s": 5.0,
        "trace.level": "full",
        "limits.inbox_items": 7,
        "camcast": new.camcast,
        "topics": new.topics,
        "scamp": new.scamp,
    }
    assert later == ["name", "bind", "spool.folder", "trace.folder", "metrics.bind", "search", "hierarchy.parents"]
    assert changes(old, old) == ({}, [])


# The example, and the whole


def uncommented(text: str) -> str:
    return re.sub(r"^#(?=[\[\w])", "", text, flags=re.MULTILINE)


def test_the_example_is_a_node_as_it_stands(tmp_path: Path) -> None:
    assert from_file(tmp_path, EXAMPLE) == Config(name="node-1")


def test_every_setting_stands_in_the_example_with_its_default(tmp_path: Path) -> None:
    written_out = uncommented(EXAMPLE)
    config = from_file(tmp_path, written_out)
    said = tomllib.loads(written_out)
    own = {name: kind for name, kind in TABLES.items() if name not in PROTOCOLS}
    assert list(said) == [name for name in Config.__struct_fields__ if name in said]
    assert set(said) == set(Config.__struct_fields__)
    for name, kind in own.items():
        assert list(said[name]) == list(kind.__struct_fields__)
    assert config.limits == Limits()
    assert config.spool == SpoolConfig(folder=tmp_path / "spool")
    assert config.trace == TraceConfig(folder=tmp_path / "traces")
    assert (config.bind, config.network, config.camcast) == (Config(name="n").bind, "default", Params.live())
    assert (config.scamp, config.search, config.timeouts) == ((d := Config(name="n")).scamp, d.search, d.timeouts)


def test_no_other_variable_of_ours_is_taken_for_a_setting() -> None:
    package = Path(gossamer.__file__).parent
    used = {
        name
        for path in package.rglob("*.py")
        if path.parent.name != "live" and path.name != "config.py"
        for name in re.findall(r"\bGOSSAMER_[A-Z_]*[A-Z]", path.read_text())
    }
    settings = {f"GOSSAMER_{field.upper()}" for field in Config.__struct_fields__}  # commands take some of these too
    assert used <= {*NOT_SETTINGS, *settings}
    assert load(None, dict.fromkeys(NOT_SETTINGS, "x"), NAMED) == Config(name="n")


def test_reading_a_configuration_loads_nothing_heavy() -> None:
    script = (
        "import sys, gossamer.live.config.config; print(*(m for m in ('numpy', 'rich', 'click') if m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "\n"


# The page about it

PAGE = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()


def told(heading: str) -> dict[str, str]:
    """Defaults by field, from the table below a heading."""
    section = PAGE.partition(f"### {heading}\n")[2].partition("\n### ")[0].partition("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|", section, re.MULTILINE))


@pytest.mark.parametrize("name", [name for name in TABLES if name not in PROTOCOLS])
def test_every_field_of_a_table_is_explained_with_its_default(name: str) -> None:
    defaults = structs.asdict(TABLES[name]())
    assert list(told(f"`[{name}]`")) == list(defaults)
    for field, cell in told(f"`[{name}]`").items():
        assert (None if cell == "none" else tomllib.loads(f"v = {cell.strip('`')}")["v"]) == defaults[field], field


def test_every_field_outside_the_tables_is_explained_with_its_default() -> None:
    apart = [name for name in Config.__struct_fields__ if name not in (*TABLES, *BY_TOPIC, *BY_TOPIC.values())]
    assert list(told("The node")) == apart
    for field, cell in told("The node").items():
        default = getattr(Config(name="n"), field) if field != "name" else ""
        said = None if cell == "none" else tomllib.loads(f"v = {cell.strip('`')}")["v"]
        assert said == (list(default) if isinstance(default, tuple) else default), field


def test_every_file_on_the_page_is_fine(tmp_path: Path) -> None:
    blocks = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        from_file(tmp_path, block)


def test_what_the_page_says_can_change_while_running_is_what_can() -> None:
    section = PAGE.partition("## Changing it while the node runs")[2].partition("\n## ")[0]
    assert {name.strip("[]") for name in re.findall(r"`([^`]+)`", section)} == {*RELOADABLE, *RELOADABLE_FIELDS}


def test_without_a_spool_nothing_is_expected_of_it() -> None:
    topics = {".a": RecoveryParams.live()}
    config = Config(name="n", spool=SpoolConfig(durability="off"), recovery_topics=topics)
    assert not config.recovery_of(".a").store
    assert not config.recovery_of(".b").store
    assert Config(name="n", recovery_topics=topics).recovery_of(".a").store


# Where a node lives


def test_a_node_of_a_hierarchy_lives_where_it_was_told_or_where_its_endpoint_says(tmp_path: Path) -> None:
    told = 'name = "n"\nspread = "hpmcast"\n[hpmcast]\nbranching = [4, 8]\naddress = "3.7"\n'
    design = from_file(tmp_path, told).design
    assert (design.address, design.branching, design.hpmcast) == ((3, 7), (4, 8), HpmcastParams.live())
    assert design.title == "hpmcast of 4.8 with 3 delegates by address below ."
    assert from_flags(spread="hpmcast").design.address == (127, 0, 0, 1, 7400)
    ports = {"branching": [1 << 16, 1 << 16, 16], "first_port": 7400}
    assert from_flags(spread="hpmcast", bind="127.0.0.1:7403", hpmcast=ports).design.address == (127 << 8, 1, 3)
    assert from_flags().design.address == ()


@pytest.mark.parametrize(
    ("hpmcast", "bind", "why"),
    [
        (
            {},
            "127.0.0.1:0",
            "hpmcast.address is missing: write digits like 0–255.0–255.0–255.0–255.0–65535, or with keys",
        ),
        ({}, "[::1]:7400", "hpmcast.address: write digits like 0–255.0–255.0–255.0–255.0–65535; none"),
        ({"branching": [4, 4]}, "127.0.0.1:1", "hpmcast.address: write digits like 0–3.0–3; none can be told from"),
        (
            {"branching": [4, 4], "address": "4.0"},
            "127.0.0.1:1",
            "hpmcast.address: '4.0' is no address of this hierarchy",
        ),
        ({"variant": "pmcast"}, "127.0.0.1:1", "hpmcast.branching must be one number: pmcast has one level"),
        ({"branching": [1]}, "127.0.0.1:1", "hpmcast.branching must be 1 to 16 numbers from 2 to 2^32"),
        ({"delegates": 65}, "127.0.0.1:1", "hpmcast.delegates must be at most 64"),
        ({"first_port": 65536}, "127.0.0.1:1", "hpmcast.first_port must be 0 to 65535"),
        (
            {"estimated": True},
            "127.0.0.1:1",
            "hpmcast.estimated does not say who wants an event: set direct and lan to 0",
        ),
    ],
)
def test_a_place_that_cannot_be_is_refused(hpmcast: dict[str, object], bind: str, why: str) -> None:
    assert refusal(flags=NAMED | {"spread": "hpmcast", "hpmcast": hpmcast, "bind": bind}).startswith(why)


def test_the_longest_hierarchy_there_may_be_fits_the_first_frame() -> None:
    widest = {"branching": [2**32] * 16, "address": ".".join("0" * 16), "delegates": 64}
    community = "." + ".".join(["x" * 63] * 3) + "." + "x" * 62
    config = from_flags(spread="hpmcast", hpmcast=widest, upkeep={"choice": "branches"}, community=community)
    hello = Hello(1, 1, "default", "node", b"", 0, config.design.title)
    assert read_hello(hello_frame(hello)[6:]) == hello


def test_an_overlay_without_links_is_refused() -> None:
    nothing = {"greedy": 0, "random": 0}
    told = refusal(flags=NAMED | {"spread": "spidercast", "spidercast": nothing})
    assert told == "spidercast.greedy and spidercast.random are both 0: there would be no links"
    assert from_flags(spidercast=nothing | {"adaptive": True}).spidercast.adaptive


def test_a_membership_is_for_camcast_the_same_for_all_and_changes_with_a_restart() -> None:
    plain, structured = from_flags(), from_flags(membership="structured")
    assert (plain.design.membership, structured.design.membership) == ("unstructured", "structured")
    assert (plain.design.title, structured.design.title) == ("camcast", "structured camcast")
    assert changes(plain, structured) == ({}, ["membership"])
    assert refusal(flags=NAMED | {"membership": "semi-structured", "spread": "dispatch"}) == (
        'membership "semi-structured" is for spread = "camcast", not "dispatch": leave it out'
    )
    said = refusal(flags=NAMED | {"membership": "loose"})
    assert said.startswith("membership must be ")
    assert "semi-structured" in said


def test_in_a_hierarchy_lost_events_are_found_by_exchange_and_counting_methods_are_refused() -> None:
    for config in (from_flags(spread="hpmcast"), Config(name="n", spread="hpmcast")):
        assert (config.recovery.method, config.recovery.push_every_us, config.recovery.tail_after_us) == (
            "exchange",
            0,
            0,
        )
    changed = from_flags(spread="hpmcast", recovery={"cache": 7}).recovery
    assert (changed.method, changed.cache) == ("exchange", 7)
    said = refusal(flags=NAMED | {"spread": "hpmcast", "recovery": {"method": "push"}})
    assert said == 'recovery.method must be "exchange" or "none" with hpmcast, which counts no patterns'
    single = {".a": {"method": "combined"}}
    assert refusal(flags=NAMED | {"spread": "hpmcast", "recovery_topics": single}).startswith("recovery_topics.")
    assert refusal(flags=NAMED | {"recovery": {"method": "exchange"}}).startswith("recovery.method: exchange needs")


def test_of_a_place_and_what_all_must_agree_on_nothing_changes_while_a_node_runs() -> None:
    old = from_flags(spread="hpmcast")
    upkeep = {"asks": 3, "choice": "coverage"}
    new = from_flags(spread="hpmcast", hpmcast={"fanout": 3, "delegates": 2, "first_port": 1}, upkeep=upkeep)
    now, later = changes(old, new)
    assert {*now} == {"hpmcast.fanout", "upkeep.asks"}
    assert {*later} == {"hpmcast.delegates", "hpmcast.first_port", "upkeep.choice"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"hpmcast": {"estimated": True, "direct": 0, "lan": 0}}, {"hpmcast": {"estimated": False, "direct": 4}}),
        ({"upkeep": {"gossip_every_us": 10**6}}, {"upkeep": {"gossip_every_us": 10**7, "forget_us": 10**8}}),
    ],
)
def test_fields_that_depend_on_each_other_change_together(before: dict[str, Any], after: dict[str, Any]) -> None:
    """One after the other they would be refused on the way."""
    for old, new in ((before, after), (after, before)):
        here, there = (from_flags(spread="hpmcast", **each) for each in (old, new))
        assert merged(here, changes(here, there)[0]) == there
