"""gossamer node: one node, or several, as a daemon."""

import json
import logging
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import click

from gossamer.cli.config import SETTINGS, granting, settings_of
from gossamer.cli.terminal import safe, safe_json, say, say_json
from gossamer.core.errors import Misuse
from gossamer.live.config.config import Config, load
from gossamer.live.running.daemon import Daemon, check_distinct, run, serve
from gossamer.protocols.hpmcast.addresses import written

LEVELS = ("debug", "info", "warning", "error")
OF_ONE_NODE = ("name", "bind", "keys", "spool.folder")
"Flags that cannot hold for several nodes."


@click.command("node", epilog="Example: gossamer node --config node.toml")
@click.option(
    "--config",
    "configs",
    multiple=True,
    envvar="GOSSAMER_CONFIG",
    type=click.Path(path_type=Path),
    help="Settings as TOML; given again: further nodes in this process.",
)
@click.option("--name", "node_name", help="The node's name, which it keeps for life.")
@click.option("--bind", metavar="HOST:PORT", help="Where calls are taken; port 0: any free one.")
@click.option("--seed", "seeds", multiple=True, metavar="HOST:PORT", help="A node to begin with (repeatable).")
@click.option("--keys", type=click.Path(), help="The folder `gossamer keys grant` made; none: this machine only.")
@click.option("--subscribe", multiple=True, metavar="TOPIC", help="Read this into the spool (repeatable).")
@click.option("--spool", type=click.Path(), help="Folder of the spool; none: in memory.")
@click.option("--trace", type=click.Path(), help="Folder for traces, which `gossamer audit` reads.")
@SETTINGS
@click.option("--log-level", type=click.Choice(LEVELS), default="info", show_default=True, help="What stderr is told.")
@click.option("--log-json", is_flag=True, help="Log as JSON, one object per line.")
@click.option("--json", "as_json", is_flag=True, help="Say where it listens as JSON, one object per node.")
def command(
    configs: tuple[Path, ...],
    node_name: str | None,
    bind: str | None,
    seeds: tuple[str, ...],
    keys: str | None,
    subscribe: tuple[str, ...],
    spool: str | None,
    trace: str | None,
    settings: tuple[str, ...],
    log_level: str,
    log_json: bool,
    as_json: bool,
) -> None:
    """Run a node: it joins, links, gossips, traces, and serves clients, /metrics and /healthz.

    SIGTERM and Ctrl-C: it leaves in good order; twice: at once. SIGHUP: settings and keys are read again.
    """
    flags: dict[str, object] = {
        "name": node_name,
        "bind": bind,
        "seeds": list(seeds) or None,
        "keys": keys,
        "subscribe": list(subscribe) or None,
        "spool.folder": spool,
        "trace.folder": trace,
        **settings_of(settings),
    }
    tell_log(log_level, log_json)
    daemons = [Daemon(read) for read in sources(configs, flags)]
    check_distinct([each.node.config for each in daemons])
    for each in daemons:
        granting(each.node.config)
    run(serve(daemons, partial(tell_ready, daemons, as_json)))


def sources(configs: Sequence[Path], flags: dict[str, object]) -> list[Callable[[], Config]]:
    """How to read each node's settings, now and again at every reload."""
    if len(configs) > 1 and (said := [name for name in OF_ONE_NODE if flags.get(name) is not None]):
        raise Misuse(f"{said[0]} cannot be the same for {len(configs)} nodes: say it in each one's file")
    return [partial(load, path, overrides=flags) for path in configs or (None,)]


def tell_ready(daemons: Sequence[Daemon], as_json: bool) -> None:
    for each in daemons:
        name, address, metrics = each.node.trust.name, each.node.address, page_of(each)
        keys = each.node.config.keys
        if as_json:
            say_json({"name": name, "address": address, "metrics": metrics, "keys": keys is not None})
            continue
        safety = f"with TLS and the keys in {keys}" if keys else (
            "without keys, so for this machine only (whoever connects is believed)"
        )  # fmt: skip
        numbers = f"numbers at {metrics}" if metrics else "no metrics"
        say(f"{name} takes calls at {address} {safety}{place_of(each)}; {numbers}")
    sys.stdout.flush()


def place_of(daemon: Daemon) -> str:
    """Where it lives in a hierarchy, if there is one."""
    address = daemon.node.station.design.address
    return f", and lives at {written(address)}" if address else ""


def page_of(daemon: Daemon) -> str | None:
    return f"http://{daemon.endpoint.address}/metrics" if daemon.endpoint.address else None


# Logging: the library installs no handler, this command does


class JsonLines(logging.Formatter):
    """One object per line."""

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "says": record.getMessage(),
        }
        if record.exc_info:
            told["trace"] = self.formatException(record.exc_info)
        return safe_json(json.dumps(told, ensure_ascii=False))


class Lines(logging.Formatter):
    """For people. What peers said may be quoted there."""

    def format(self, record: logging.LogRecord) -> str:
        return safe(super().format(record))


def tell_log(level: str, as_json: bool) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if as_json else Lines("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.getLogger().addHandler(handler)
    logging.getLogger("gossamer").setLevel(level.upper())
    logging.raiseExceptions = False  # whoever reads stderr may be gone
