"""The kinds of metrics agree with what each study says they are."""

from gossamer.lab.metrics import OF_EVENTS, OF_RUNS, SHARES, is_percent
from gossamer.lab.studies import STUDIES
from gossamer.lab.studies.communities.tables import Communities
from gossamer.lab.studies.comparison.metrics import METRICS as COMPARED
from gossamer.lab.studies.epidemic.tables import METRICS as OF_RECOVERY
from gossamer.lab.studies.hierarchy.metrics import METRICS as OF_HIERARCHIES
from gossamer.lab.studies.overlay.metrics import METRICS as OF_OVERLAYS

SAID = [OF_OVERLAYS, OF_HIERARCHIES, OF_RECOVERY, COMPARED]


def test_what_is_1_or_0_is_known_by_its_name() -> None:
    either = {name for said in SAID for name, what in said.items() if what.startswith("1 where")}
    assert either == OF_RUNS


def test_every_kind_is_of_metrics_that_some_study_has() -> None:
    known = {name for study in (Communities, *STUDIES.values()) for name in study.metrics}
    assert known >= SHARES | OF_EVENTS | OF_RUNS
    assert not SHARES & (OF_EVENTS | OF_RUNS)
    assert [name for name in ("reception", "climbed", "reached_95", "memory") if is_percent(name)] == [
        "reception", "climbed",
    ]  # fmt: skip
