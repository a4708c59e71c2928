"""Ten hostile clients against one node, for seconds rather than a minute: what must not happen, happens soon."""

from pathlib import Path

import pytest
from benchmarks.hostile.__main__ import bars
from benchmarks.hostile.attacks import ATTACKS
from benchmarks.hostile.run import run

SLOWER = 50.0
"Times; a machine that runs tests has other things to do. Without turns it is a thousand."


@pytest.mark.slow
def test_a_node_under_attack_serves_an_honest_client_and_does_not_grow(tmp_path: Path) -> None:
    result = run([*ATTACKS], 10.0, tmp_path, quiet_s=2.0)
    assert [bar for bar in bars(result, SLOWER) if not bar.met] == [], result
