"""gossamer config: a node's settings, checked and shown before it starts."""

import json
import time
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec import Struct, structs

from gossamer.cli.terminal import say
from gossamer.core.errors import Misuse
from gossamer.core.ids import peer_of
from gossamer.core.reading import joined
from gossamer.live.config.config import BY_TOPIC, Config, read
from gossamer.live.config.tables import SpoolConfig, TraceConfig
from gossamer.live.keys.trust import Act, Trust
from gossamer.live.running.opening import load_trust
from gossamer.protocols.assemble import BY_CONTENT
from gossamer.protocols.hpmcast.addresses import written

SPREAD_TABLES = {
    "dispatch": ["dispatch"],
    "spidercast": ["spidercast", "interests", "flood"],
    "hpmcast": ["hpmcast", "upkeep"],
}
"Tables that nobody reads unless events travel so."
FILE = click.argument("file", type=click.Path(path_type=Path))
SETTINGS = click.option(
    "--set", "settings", multiple=True, metavar="FIELD=VALUE", help="Set a field, e.g. spool.folder=spool."
)


@click.group("config", epilog="Example: gossamer config check node.toml")
def command() -> None:
    """A node's configuration: write one, check it, show what it comes to.

    The file says what it says, variables like GOSSAMER_SPOOL__FOLDER win over it, flags over both.
    """


@command.command("check", epilog="Example: gossamer config check node.toml --set bind=127.0.0.1:0")
@FILE
@SETTINGS
def check(file: Path, settings: tuple[str, ...]) -> None:
    """One line that says what a node with this file would do, or what is wrong with it (exit code 2)."""
    config, sources = read(file, overrides=settings_of(settings))
    trust = granting(config)
    others = sorted(set(sources.values()) - {str(file)})
    beside = f" (with {', '.join(others)})" if others else ""
    say(f"{file}{beside} is fine: {trust.name} {outlook(config, trust)}.{unheeded(config, sources)}")


@command.command("show", epilog="Example: gossamer config show node.toml --json")
@FILE
@SETTINGS
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def show(file: Path, settings: tuple[str, ...], as_json: bool) -> None:
    """Every setting, defaults included, as TOML that could be used instead, with who said what."""
    config, sources = read(file, overrides=settings_of(settings))
    if as_json:
        say(json.dumps(msgspec.to_builtins(config, enc_hook=str), indent=1))
    else:
        say("\n".join(lines(config, sources)))


@command.command("new", epilog="Example: gossamer config new > node.toml")
def new() -> None:
    """A commented example, ready to be changed."""
    say((files("gossamer") / "live" / "node.toml").read_text(encoding="utf-8"), nl=False)


def settings_of(settings: tuple[str, ...]) -> dict[str, str]:
    """The values of --set by field."""
    found = {}
    for each in settings:
        field, equals, text = each.partition("=")
        if not equals:
            raise Misuse(f"--set {each}: write FIELD=VALUE, like spool.folder=spool")
        found[field.strip()] = text.strip()
    return found


def granting(config: Config) -> Trust:
    """The node's keys, once they are found to be its own and to allow what it would do."""
    trust = load_trust(config)
    wishes: tuple[tuple[str, Act, tuple[str, ...]], ...] = (
        ("subscribe", "subscribe", config.subscribe),
        ("publish", "publish", config.publish),
        ("community", "subscribe", (config.community,) if config.spread in BY_CONTENT else ()),
    )
    for field, act, topics in wishes:
        for topic in topics:
            if not trust.may(peer_of(trust.name), act, topic, time.time()):
                raise Misuse(
                    f"{field} names {topic}, which the grant in {config.keys} does not cover: "
                    f"make one with `gossamer keys grant NET --node {trust.name} --{act} {topic}`"
                )
    return trust


def outlook(config: Config, trust: Trust) -> str:
    """What a node told this would do."""
    said = [
        f"takes calls at {config.bind}",
        "with TLS" if config.keys else "without keys, so on this machine only",
        f"joins through {', '.join(config.seeds)}" if config.seeds else "waits for others (no seeds)",
        f"subscribes to {', '.join(config.subscribe)}" if config.subscribe else "subscribes to nothing by itself",
        f"publishes on {', '.join(config.publish)}" if config.publish else "",
        f"dispatches by content for all of {config.community}" if config.spread == "dispatch" else "",
        f"finds members by {config.membership} membership" if config.membership != "unstructured" else "",
        lives(config, trust),
        f"loses {config.faults.loss:.0%} of what it hears, on purpose" if config.faults.loss else "",
        spooling(config.spool),
        tracing(config.trace),
        "serves no metrics" if config.metrics.bind == "off" else f"serves metrics at {config.metrics.bind}",
    ]
    return ", ".join(each for each in said if each)


def lives(config: Config, trust: Trust) -> str:
    if config.spread != "hpmcast":
        return ""
    granted = trust.lives_at(peer_of(trust.name))
    address, by = written(config.design_at(granted).address), ", as granted," if granted else ""
    return f"lives at {address}{by} of a hierarchy for all of {config.community}"


def unheeded(config: Config, said: Mapping[str, str]) -> str:
    """Names tables that were written for another spread: whoever wrote them may have meant that one."""
    tables = {name.partition(".")[0] for name in said}
    others = {each: tables.intersection(its) for each, its in SPREAD_TABLES.items() if each != config.spread}
    return "".join(
        f" [{'], ['.join(sorted(its))}] {'changes nothing: it is' if len(its) == 1 else 'change nothing: they are'} "
        f'for spread = "{each}", and here that is "{config.spread}".'
        for each, its in others.items()
        if its
    )


def spooling(spool: SpoolConfig) -> str:
    if spool.durability == "off":
        return "keeps no spool"
    return f"spools to {spool.folder} ({spool.durability})" if spool.folder else "spools in memory"


def tracing(trace: TraceConfig) -> str:
    return f"traces {trace.level} to {trace.folder}" if trace.folder and trace.level != "off" else "leaves no traces"


def lines(config: Config, sources: Mapping[str, str]) -> Iterator[str]:
    """The configuration as TOML. A field that was said has its source beside it."""
    fields = structs.asdict(config)
    topics = {joined(table, name): params for table in BY_TOPIC.values() for name, params in fields.pop(table).items()}
    yield from table({name: value for name, value in fields.items() if not isinstance(value, Struct)}, "", sources)
    for name, value in {**fields, **topics}.items():
        if isinstance(value, Struct):
            yield f"\n[{name}]"
            yield from table(structs.asdict(value), name, sources)


def table(fields: Mapping[str, Any], where: str, sources: Mapping[str, str]) -> Iterator[str]:
    for name, value in fields.items():
        dotted = f"{where}.{name}" if where else name
        source = f"  # {sources[dotted]}" if dotted in sources else ""
        yield f"# {name} is not set" if value is None else f"{name} = {toml(value)}{source}"


def toml(value: Any) -> str:
    match value:
        case tuple():
            return f"[{', '.join(map(toml, value))}]"
        case dict():
            return f"{{{', '.join(f'{toml(key)} = {toml(each)}' for key, each in value.items())}}}"
        case bool() | int() | float():
            return json.dumps(value)
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
