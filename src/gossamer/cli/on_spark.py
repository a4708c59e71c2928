"""What the commands that need Spark share: where it runs, how it starts, what is seen of it meanwhile."""

import contextlib
import functools
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

import click
from rich.console import Console

from gossamer.cli.progress import Telling
from gossamer.core.errors import Misuse
from gossamer.pipeline.background import in_background
from gossamer.pipeline.hadoop import starting
from gossamer.pipeline.jobs import Jobs
from gossamer.pipeline.places import place_at
from gossamer.pipeline.session import Session, spark_session

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

LOOK_S = 0.1


class PlaceType(click.ParamType):  # type: ignore[type-arg]  # not generic as click is installed
    """A path or URI."""

    name = "PLACE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return place_at(value)


def on_spark(command: F) -> F:
    """--master and --conf; the command is given `where`."""

    @functools.wraps(command)
    def given(*arguments: Any, master: str | None, conf: tuple[str, ...], **options: Any) -> Any:
        return command(*arguments, where=Where(master, settings_of(conf)), **options)

    for option in (
        click.option(
            "--conf", multiple=True, metavar="KEY=VALUE", help="A setting of Spark, e.g. spark.ui.enabled=true."
        ),
        click.option("--master", help="Spark master, or sc://host:port of a Spark Connect server; default local[*]."),
    ):
        given = option(given)
    return given  # type: ignore[return-value]


def settings_of(conf: tuple[str, ...]) -> dict[str, str]:
    settings = dict[str, str]()
    for each in conf:
        key, equals, value = each.partition("=")
        if not equals or not key.strip().startswith("spark."):
            raise Misuse(f"--conf {each}: write KEY=VALUE with a setting of Spark, like spark.executor.memory=4g")
        settings[key.strip()] = value.strip()
    return settings


class Where:
    """Where Spark is to run."""

    def __init__(
        self, master: str | None = None, conf: Mapping[str, str] | None = None, *, brief: bool = False
    ) -> None:
        self.master, self.conf = master, dict(conf or {})
        self.brief = brief
        "Whether it is needed for seconds only."


@contextlib.contextmanager
def spark_when_needed(console: Console, where: Where) -> Iterator[Callable[[], Session]]:
    """Starts Spark when first called, or when a place is looked at that is not on this machine."""
    with contextlib.ExitStack() as ending:
        start = functools.cache(lambda: ending.enter_context(starting_spark(console, where)))
        needed = starting.set(start)
        ending.callback(starting.reset, needed)
        yield start


@contextlib.contextmanager
def starting_spark(console: Console, where: Where | None = None) -> Iterator[Session]:
    """A session for a block, announced while it starts and no longer: a terminal shows one live line at a time."""
    where = where or Where()
    if not logging.getLogger().handlers:  # where Ctrl-C meets a call to the JVM, py4j logs a traceback and prints it
        logging.getLogger().addHandler(logging.NullHandler())
    with contextlib.ExitStack() as ending:
        with console.status("starting Spark …"):
            spark = entered_apart(ending, spark_session(where.master, conf=where.conf, brief=where.brief))
        yield spark


def entered_apart(ending: contextlib.ExitStack, session: contextlib.AbstractContextManager[Session]) -> Session:
    """Enters a session in a thread of its own, so that Ctrl-C is answered at once: a JVM that starts is not to be
    disturbed. It ends when nobody holds the other end of its pipe any more, or the session when it is there."""
    entering, given_up = Future[Session](), threading.Event()

    def enter() -> None:
        try:
            entering.set_result(session.__enter__())
        except BaseException as problem:
            entering.set_exception(problem)
        else:
            if given_up.is_set():
                session.__exit__(None, None, None)

    threading.Thread(target=enter, daemon=True).start()
    try:
        while not entering.done():
            time.sleep(LOOK_S)
    except KeyboardInterrupt:
        given_up.set()
        raise
    ending.push(session.__exit__)
    return entering.result()


def step_by_step(
    console: Console, spark: Session, name: str, steps: tuple[str, ...], work: Callable[[Callable[[str], None]], T]
) -> T:
    """Work in the background that says which of these steps it begins."""
    telling, begun = Telling(console, f"{name}: {steps[0]}", len(steps), counted=False), list[str]()

    def look() -> None:
        if begun:
            telling.tell(len(begun) - 1, f"{name}: {begun[-1]}")

    with telling.bar:
        return in_background(spark, lambda: work(begun.append), look, f"gossamer {name}", Jobs(spark))
