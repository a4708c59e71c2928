"""How CAMCAST decides. Plain numbers in, plain answers out: layer and kernel both call these."""

import math
from typing import Any

from gossamer.core.draws import fold
from gossamer.parts.sampling import fanout

RARELY = 32
"Links drawn evenly are drawn anew, while nothing changes, after so many times of looking after them, or more."


def tells(size: int, extra: float, small: int) -> int:
    """Members of one's own community a first receiver tells (Fig. 8, lines 9-14): everybody in a small one."""
    return size - 1 if size <= small else fanout(size, extra)


def election(size: int, electors: float, small: int) -> float:
    """The chance p_sel with which a process carries an event upwards, so that about `electors` of the group do."""
    return 1.0 if size <= small else min(1.0, electors / size)


def per_link(size: int, targets: float, links: int, small: int) -> float:
    """The chance p_a with which an elected process tells each of its links."""
    return 1.0 if size <= small else min(1.0, targets / links)


def drawn(chance: Any, probability: Any) -> Any:
    """Whether something of this probability happens, given a chance in [0, 1). No `if`: works on an array too."""
    return chance < probability


def of_table(key: Any, ordinal: Any) -> Any:
    """The draws of one table, or community, among several: each has its own."""
    return key if ordinal == 0 else fold(key, ordinal)


def table_entries(size: int, extra: float, table_factor: float | None) -> float:
    """Entries of a topic table: (b + 1) ln N in daMulticast, exactly what one event needs (ln N + c) in CAMCAST."""
    if size <= 1:
        return 0.0
    wanted = math.log(size) + extra if table_factor is None else (table_factor + 1) * math.log(size)
    return min(float(size - 1), wanted)


def rarely(size: int, electors: float) -> int:
    """After how many times of looking after them links drawn evenly are drawn anew, while nothing changes: in a large
    community more rarely, so that those above notice no more of it than of probes."""
    return max(RARELY, round(size / electors)) if electors else RARELY * max(1, size)
