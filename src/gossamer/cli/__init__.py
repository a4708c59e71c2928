"""The `gossamer` command. Each subcommand is a file: parse, call the library, render."""

import sys
from importlib import import_module

import click

from gossamer import __version__
from gossamer.cli.terminal import say
from gossamer.core.errors import GossamerError, TransportDown

COMMANDS = {
    "demo": "a real network, some of it killed, all of it audited",
    "simulate": "one run of an experiment, told as a story",
    "sweep": "every point and run of an experiment, on Spark",
    "overlay": "few links that keep every topic of one's own table together",
    "reproduce": "every table, figure and headline claim of a paper",
    "node": "run a node: join, link, gossip, serve clients and metrics",
    "publish": "hand events to the network",
    "subscribe": "print events as they come",
    "subscriptions": "durable subscriptions of a node: list, show, delete",
    "audit": "who should have which event, who had it, who got one unasked",
    "keys": "who may join, publish and subscribe",
    "replay": "a live node's journal, step by step, on a fresh machine",
    "experiments": "the experiments that come with the package",
    "config": "a node's settings: write, check, show",
}
EXTRAS = {
    "numpy": "sim",
    "numba": "sim",
    "matplotlib": "sim",
    "jinja2": "sim",
    "pyspark": "spark",
    "pyarrow": "spark",
    "pandas": "spark",
}
ON_SPARK = ("demo", "sweep", "overlay", "reproduce", "audit")
"Commands that need the larger extra whichever of its packages is missed first."


ASKED = "gossamer.asked"


class Commands(click.Group):
    """Loads a subcommand's file when it is used, and says every error in one sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        ctx.meta[ASKED] = name
        command: click.Command = import_module(f"gossamer.cli.{name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> None:
        try:
            super().invoke(ctx)
        except TransportDown as problem:
            _fail(str(problem), 1)
        except GossamerError as problem:
            _fail(str(problem), 2)
        except click.exceptions.NoArgsIsHelpError:
            raise  # the help is the answer
        except click.UsageError as wrong:
            helped = f" (see `{wrong.ctx.command_path} --help`)" if wrong.ctx is not None else ""
            _fail(wrong.format_message().rstrip(".") + helped, wrong.exit_code)
        except ModuleNotFoundError as missing:
            package = (missing.name or "").partition(".")[0]
            if package not in EXTRAS:
                raise
            extra = "spark" if ctx.meta.get(ASKED) in ON_SPARK else EXTRAS[package]
            _fail(f'this command needs {package}: pip install "gossamer[{extra}]"', 2)
        except KeyboardInterrupt as stopped:
            _fail(": ".join(["stopped", *map(str, stopped.args)]), 130)


def _fail(sentence: str, code: int) -> None:
    say(f"gossamer: {sentence}", err=True)
    sys.exit(code)


@click.command(
    "gossamer", cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.version_option(__version__, prog_name="gossamer")
def main() -> None:
    """Publish/subscribe without a broker, where an event only ever touches processes that want it.

    Exit code: 0 fine, 1 the verdict is bad or something outside failed, 2 misuse, 130 stopped by Ctrl-C.
    """
