"""Real `gossamer` processes: started apart, watched, and never left behind."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from gossamer.pipeline.session import TOUCHED

WAIT_S = 300
"Only a hanging test takes this long; the machine may be busy with others."
UNCHECKED = "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
QUICK_JAVA = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC {UNCHECKED}"
"For a JVM that lives for seconds, optimising and checking Spark's classes costs more than it gives."


def environment(scratch: Path, **more: str) -> dict[str, str]:
    """Ours without what a running Spark put into it; temporary files go where a test can look at them."""
    (temporary := scratch / "tmp").mkdir(exist_ok=True)
    plain = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", *TOUCHED}}
    return {**plain, "TMPDIR": str(temporary), "JAVA_TOOL_OPTIONS": QUICK_JAVA, **more}


def gossamer(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "gossamer", *map(str, arguments)]


def run(command: list[str], scratch: Path, **more: str) -> "subprocess.CompletedProcess[str]":
    """A command's whole life; whatever it started ends with it."""
    with started(command, scratch, **more) as process:
        out, err = process.communicate(timeout=WAIT_S)
        return subprocess.CompletedProcess(command, process.returncode, out, err)


@contextlib.contextmanager
def started(
    command: list[str], scratch: Path, *, output: int = subprocess.PIPE, **more: str
) -> "Iterator[subprocess.Popen[str]]":
    """A command in a session of its own, so that all it starts can be found; none of it outlives the block."""
    process = subprocess.Popen(
        command,
        cwd=scratch,
        env=environment(scratch, **more),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        for member in members(process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)
        process.communicate()


def without_progress(err: str) -> str:
    """What a command says but for the lines that tell a slow machine's user how far it is."""
    return re.sub(r"^[\w: ]+: [\d,]+ of [\d,]+\n", "", err, flags=re.MULTILINE)


def members(session: int) -> list[int]:
    """Every process of a session, in whatever group: Spark's Python workers are in one of their own."""
    return [int(each.name) for each in Path("/proc").glob("[0-9]*") if in_session(int(each.name), session)]


def in_session(process: int, session: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # gone meanwhile
        return False
    return int(state[3]) == session and state[0] != "Z"  # state, parent, group, session


def soon(condition: Callable[[], bool]) -> bool:
    """Whether it comes true, looked at often."""
    return any(condition() or threading.Event().wait(0.05) for _ in range(WAIT_S * 20))
