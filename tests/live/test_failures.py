"""Nothing fails silently: what nobody caught is logged, counted and told by /healthz, and periodic work goes on."""

import asyncio
import errno
import logging
import os
import resource
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from gossamer.core.errors import TransportDown
from gossamer.core.machine import Fired, SetTimer
from gossamer.live.clients.client import Client
from gossamer.live.clients.session import ClientSession
from gossamer.live.config.config import load
from gossamer.live.links.transports.memory import Memory
from gossamer.live.node import Node
from gossamer.live.running import daemon as daemon_module
from gossamer.live.running import driver as driver_module
from gossamer.live.running.daemon import Daemon, serve
from gossamer.live.watching import failures
from gossamer.live.watching.failures import Failures, noticed, sentence
from gossamer.live.watching.metrics import Metrics
from gossamer.testing import Network
from live.test_endpoint import get
from live.watching import until


@pytest.fixture(autouse=True)
def no_handlers_left_behind() -> Any:
    before = threading.excepthook
    yield
    assert threading.excepthook is before


def served(act: Callable[[Daemon], Awaitable[None]], **settings: Any) -> None:
    """A daemon under the eyes of `serve`, and something that happens to it."""

    async def scenario() -> None:
        given = {"name": "n", "bind": "127.0.0.1:0", "timeouts": {"leave_s": 0.05}, **settings}
        daemon, up = Daemon(lambda: load(environ={}, overrides=given)), asyncio.Event()
        running = asyncio.create_task(serve([daemon], up.set))
        try:
            async with asyncio.timeout(60):
                await up.wait()
                await until(lambda: daemon.node.health().ok)
                await act(daemon)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    asyncio.run(scenario())


async def health(daemon: Daemon) -> tuple[int, str]:
    assert daemon.endpoint.address is not None
    status, _, body = await get(daemon.endpoint.address, "/healthz")
    return status, body.decode()


# -- timers and tasks ---------------------------------------------------------------------------------------------


def test_a_step_that_fails_at_a_timer_is_told_and_the_timer_goes_off_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(driver_module, "AGAIN_S", 0.01)

    async def act(daemon: Daemon) -> None:
        driver, fired = daemon.node.station.driver, list[object]()
        step = driver.machine.step

        def failing(given: Any, now_us: int) -> Any:
            if given == Fired("mine"):
                fired.append(given)
                if len(fired) < 3:
                    raise RuntimeError("a bug in a layer")
                return [SetTimer(1_000, "mine")] if len(fired) < 5 else []
            return step(given, now_us)

        monkeypatch.setattr(driver.machine, "step", failing)
        driver._set(SetTimer(1_000, "mine"))
        await until(lambda: len(fired) == 5)
        assert daemon.node.metrics.failures == 2
        status, body = await health(daemon)
        assert status == 503
        assert '"status":"failing"' in body
        assert "a step of the machine failed, at the timer str: RuntimeError: a bug in a layer" in body
        assert driver._again == {}
        monkeypatch.setattr(failures, "TOLD_S", 0.0)
        assert (await health(daemon))[0] == 200

    with caplog.at_level(logging.ERROR, "gossamer"):
        served(act)
    assert (
        len([each for each in caplog.records if "a bug in a layer" in each.getMessage()]) == 1
    )  # not twice in a minute


def test_a_timer_that_failed_but_was_set_again_by_the_machine_goes_off_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with Network() as network:
            driver, fired = (await network.node("a")).station.driver, list[object]()

            def failing(given: Any, now_us: int) -> Any:
                fired.append(given)
                if len(fired) == 1:
                    raise RuntimeError
                return []

            monkeypatch.setattr(driver_module, "AGAIN_S", 0.05)
            monkeypatch.setattr(driver.machine, "step", failing)
            driver._fire(SetTimer(0, "mine"))
            driver._set(SetTimer(0, "mine"))  # it stood in the outbox when the step failed
            assert driver._again == {}
            await asyncio.sleep(0.1)
            assert fired.count(Fired("mine")) == 2

    asyncio.run(scenario())


def test_the_beat_goes_on_though_something_in_it_failed() -> None:
    async def act(daemon: Daemon) -> None:
        station, beats = daemon.node.station, list[int]()

        def check() -> None:
            beats.append(1)
            raise RuntimeError("no clock")

        station.clock.check = check  # type: ignore[method-assign]
        daemon_module.log.disabled = True
        try:
            await until(lambda: len(beats) >= 2)
        finally:
            daemon_module.log.disabled = False
        assert "RuntimeError: no clock" in (await health(daemon))[1]

    served(act)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_task_that_nobody_waits_for_is_told_of() -> None:
    async def act(daemon: Daemon) -> None:
        async def lost() -> None:
            raise RuntimeError("in a task")

        _ = asyncio.create_task(lost())
        del _
        await until(lambda: daemon.node.metrics.failures)
        assert "Task exception was never retrieved: RuntimeError: in a task" in (await health(daemon))[1]

    served(act)


def test_seeds_are_called_again_after_a_call_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.live.links.seeds.AGAIN_S", 0.01)

    async def scenario() -> None:
        async with Network() as network:
            node, calls = await network.node("a"), list[int]()

            async def failing() -> None:
                calls.append(1)
                if len(calls) == 2:
                    raise ValueError("no such name")

            node.station.seeds._call_seeds = failing  # type: ignore[method-assign]
            node.station.seeds.change(())
            await until(lambda: len(calls) >= 3)
            assert node.metrics.failures == 1
            assert "seeds could not be called: ValueError: no such name" in node.health().about["why"]

    asyncio.run(scenario())


# -- a node inside somebody else's program --------------------------------------------------------------------------


def guest(act: Callable[[Node], Awaitable[None]]) -> None:
    """Something happens to a node without a daemon. The program's own exception handler hears nothing of it."""

    async def scenario() -> None:
        heard = list[object]()
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: heard.append(context))
        async with Network() as network:
            node = await network.node("a", subscribe=[".a"])
            assert node.health().status != "failing"
            await act(node)
            assert node.health().status == "failing"
            assert await node.publish(".a", "it goes on")
        assert heard == []

    asyncio.run(scenario())


def test_what_fails_in_a_timer_a_task_or_a_callback_of_a_node_is_its_own() -> None:
    async def act(node: Node) -> None:
        def failing(*_: object) -> None:
            raise RuntimeError("a bug")

        async def failing_task() -> None:
            failing()

        loop = node.station.loop
        done = loop.create_future()
        loop.call_soon(failing)
        loop.call_later(0, failing)
        loop.call_at(loop.time(), failing)
        loop.call_soon_threadsafe(failing)
        loop.create_task(failing_task())
        loop.create_task(asyncio.sleep(60)).cancel()  # was not to go on
        loop.when_done(done, failing)
        done.set_result(None)
        await until(lambda: node.metrics.failures == 6)
        assert "failed: RuntimeError: a bug" in node.health().about["why"]

    guest(act)


def test_what_fails_while_a_client_is_served_is_the_nodes_own(monkeypatch: pytest.MonkeyPatch) -> None:
    async def failing(*_: object) -> None:
        raise RuntimeError("a bug")

    async def scenario() -> None:
        heard = list[object]()
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: heard.append(context))
        monkeypatch.setattr(ClientSession, "_reply", failing)
        async with Network() as network:
            node = await network.node("a")
            async with Client(node.address, transport=Memory(network.memory)) as client:
                asking = asyncio.create_task(client.subscriptions())
                await until(lambda: node.metrics.failures == 1)
                asking.cancel()
            assert "failed: RuntimeError: a bug" in node.health().about["why"]
        assert heard == []

    asyncio.run(scenario())


def test_what_fails_at_a_message_or_a_commit_is_told_and_the_link_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with Network() as network:
            anna, bert = await network.node("a", subscribe=[".a"]), await network.node("b", subscribe=[".a"])
            assert await bert.joined(".a")
            links, feed = [*bert.station.connections.links], bert.station.driver.feed

            def failing(given: Any) -> None:
                monkeypatch.setattr(bert.station.driver, "feed", feed)
                raise RuntimeError(f"a bug at {type(given).__name__}")

            monkeypatch.setattr(bert.station.driver, "feed", failing)
            await until(lambda: bert.metrics.failures == 1)  # whatever comes next
            await anna.publish(".a", "heard all the same")
            await until(lambda: bert.metrics.events_delivered == 1)
            assert [*bert.station.connections.links] == links

    asyncio.run(scenario())


def test_a_thread_of_a_node_that_ends_is_told_by_the_node(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Network() as network:
            node = await network.node("a", spool={"folder": str(tmp_path / "spool")})
            assert node._spool is not None
            node._spool._courier.change(lambda store: print(1 / 0))
            await until(lambda: node.metrics.failures)
            assert "the thread gossamer-spool has ended: ZeroDivisionError" in node.health().about["why"]

    asyncio.run(scenario())


# -- threads --------------------------------------------------------------------------------------------------------


def test_a_thread_that_ends_by_an_exception_is_told_until_the_node_is_restarted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(failures, "TOLD_S", 0.0)

    async def act(daemon: Daemon) -> None:
        assert daemon.node._spool is not None
        daemon.node._spool._courier.change(lambda store: print(1 / 0))
        await until(lambda: daemon.node.metrics.failures)
        status, body = await health(daemon)
        assert status == 503
        assert "the thread gossamer-spool has ended: ZeroDivisionError: division by zero" in body

    served(act, spool={"folder": str(tmp_path / "spool")})


def test_a_disk_that_cannot_be_written_is_told() -> None:
    async def act(daemon: Daemon) -> None:
        assert daemon.node._spool is not None
        daemon.node._spool._courier.writer.trouble = TransportDown("the spool cannot be written: the disk is full")
        status, body = await health(daemon)
        assert status == 503
        assert '"why":"the spool cannot be written: the disk is full"' in body
        daemon.node._spool._courier.writer.trouble = None
        assert (await health(daemon))[0] == 200

    served(act)


# -- descriptors ----------------------------------------------------------------------------------------------------


class Spent:
    """No descriptor is left while this lasts."""

    def __enter__(self) -> None:
        self.before = resource.getrlimit(resource.RLIMIT_NOFILE)
        probe = os.open(os.devnull, os.O_RDONLY)
        os.close(probe)
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (probe, self.before[1])
        )  # the lowest free one is the first forbidden

    def __exit__(self, *_: object) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, self.before)


@pytest.mark.skipif(sys.platform != "linux", reason="limits are set as Linux does")
def test_a_lack_of_descriptors_is_told_and_takes_no_page_away() -> None:
    async def act(daemon: Daemon) -> None:
        with Spent():
            page = daemon.node.metrics.page()
            told = daemon.node.health()
        assert b"gossamer_build_info" in page
        assert told.status == "failing"
        assert "no file descriptor is left, so no call can be taken" in told.about["why"]
        assert daemon.node.health().ok

    served(act)


def test_a_call_that_could_not_be_taken_is_told_for_a_while() -> None:
    async def act(daemon: Daemon) -> None:
        class Full:
            def accept(self) -> None:
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

            def fileno(self) -> int:
                return listening.fileno()

        transport: Any = daemon.node.station.transport
        listening = transport._listening[0]
        transport._take_calls(Full(), daemon.node.station.connections.answer)
        assert daemon.node.metrics.failures == 1
        assert daemon.node.metrics.refusals["too many callers"] == 1
        assert "a call could not be taken: OSError: " in (await health(daemon))[1]

    served(act)


# -- by themselves ----------------------------------------------------------------------------------------------------


def test_a_sentence_is_one_line_and_not_endless() -> None:
    assert sentence("Fatal error:\nprotocol", ValueError("x" * 900)).startswith("Fatal error: ValueError: xxx")
    assert len(sentence("a", ValueError("x" * 900))) == 300
    assert sentence("it failed.", None) == "it failed"


def test_who_looked_at_the_loop_before_does_so_afterwards() -> None:
    async def scenario() -> None:
        loop, seen = asyncio.get_running_loop(), list[object]()
        loop.set_exception_handler(lambda _, context: seen.append(context))
        told = Failures(Metrics())
        with noticed([told]):
            loop.call_exception_handler({"message": "first"})
        loop.call_exception_handler({"message": "second"})
        assert (told.metrics.failures, told.told(), len(seen)) == (1, "first", 1)

    asyncio.run(scenario())


def test_a_node_of_another_program_leaves_its_loop_alone() -> None:
    async def scenario() -> None:
        async with Network() as network:
            node: Node = await network.node("a")
            assert node.state == "up"
            assert asyncio.get_running_loop().get_exception_handler() is None

    asyncio.run(scenario())
