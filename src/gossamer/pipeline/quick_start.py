"""Settings for a Spark on this machine that is needed for seconds: most of what it would do by itself is done for work
that takes hours.

Measured on an audit of the demo, 200,000 rows, in CPU seconds: compiling once and not twice takes 20 of 53 away, one
thread that collects garbage another 4. An archive of classes would save 5, but takes 25 to make, and 190 MB.
"""

import os

LIGHT_COMPILER = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
"With as much room for code as the other compiler would have: it gets a fifth of that, and would compile again."
LIGHT_COLLECTOR = "-XX:+UseSerialGC"
TOLD_BY_USER = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
BRIEF_BYTES = 32 * 2**20
"Traces of which an audit is brief."


def brief_settings() -> dict[str, str]:
    """Whoever has chosen a garbage collector keeps it: Java refuses to start with two."""
    chosen = any("GC" in os.environ.get(name, "") for name in TOLD_BY_USER)
    options = LIGHT_COMPILER if chosen else f"{LIGHT_COMPILER} {LIGHT_COLLECTOR}"
    return {"spark.driver.extraJavaOptions": options}
