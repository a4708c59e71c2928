"""Figures say what the rows say, in the same bytes each time, whatever the topics are called."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest

from gossamer.lab.figures import Figure, Reference, bars, dots, lines, save, tick


def row(at: object, mean: object, group: str = "all", metric: str = "reception", **more: Any) -> dict[str, Any]:
    point = {"faults.fraction": at, **more.pop("point", {})}
    return {"point": point, "group": group, "metric": metric, "mean": mean, "ci95": 0.01, "runs": 20, **more}


def curve(rows: Iterable[dict[str, Any]], metric: str = "reception", **more: Any) -> Figure:
    return lines(list(rows), name="curve", title="Reach", x="faults.fraction", metric=metric, **more)


def texts(figure: Figure) -> list[str]:
    return [element.text or "" for element in ET.fromstring(figure.svg).iter() if element.tag.endswith("}text")]


TWO_GROUPS = [row(at, at, group) for group in (".soccer", ".soccer.italy") for at in (0.2, 0.6, 1.0)]


@cache
def drawn() -> Figure:
    return curve(TWO_GROUPS)


def test_each_group_is_named_in_the_key() -> None:
    assert {".soccer", ".soccer.italy"} <= set(texts(drawn()))


def test_only_the_groups_asked_for_are_drawn() -> None:
    shown = texts(curve(TWO_GROUPS, groups=[".soccer"]))
    assert ".soccer" in shown
    assert ".soccer.italy" not in shown


def test_the_same_rows_in_any_order_give_the_same_bytes() -> None:
    assert curve(reversed(TWO_GROUPS)) == drawn()


def test_the_settings_of_the_caller_neither_show_nor_change() -> None:
    plain = drawn()
    with matplotlib.rc_context({"font.size": 30, "svg.hashsalt": "other"}):
        assert curve(TWO_GROUPS) == plain
        assert matplotlib.rcParams["font.size"] == 30


def test_a_file_carries_no_date_and_no_version() -> None:
    figure = drawn()
    assert "date" not in figure.svg
    assert "Matplotlib" not in figure.svg
    assert figure.png
    assert b"Matplotlib" not in figure.png()


def test_a_share_is_printed_in_percent_and_a_count_with_separators() -> None:
    assert "100\u00a0%" in texts(drawn())
    counts = curve([row(0.5, 2000.0, metric="messages"), row(1.0, 9000.0, metric="messages")], "messages")
    assert "8,000" in texts(counts)


def test_a_share_above_one_is_not_taken_for_percents() -> None:
    assert not any("300" in text and "%" in text for text in texts(curve([row(0.5, 1.0), row(1.0, 3.0)])))


@pytest.mark.parametrize(
    ("value", "share", "text"),
    [(0.9995, True, "99.95\u00a0%"), (12500, False, "12,500"), (1e8, False, "100\u00a0M"), (0.1 + 0.2, False, "0.3")],
)
def test_ticks_are_written_for_people(value: float, share: bool, text: str) -> None:
    assert tick(value, share) == text


def test_a_reference_is_drawn_dashed_and_named() -> None:
    figure = curve(TWO_GROUPS, references=[Reference("paper, Fig. 9", [0.2, 1.0], [0.3, 1.0], group=".soccer")])
    assert "paper, Fig. 9" in texts(figure)
    assert "stroke-dasharray" in figure.svg


def test_the_caption_says_what_the_bands_are() -> None:
    rows = [row(0.5, 0.9, runs=20), row(1.0, 1.0, runs=1200)]
    assert curve(rows, caption="Ours.").caption == (
        "Ours. Bands: 95\u00a0% confidence interval of the mean, 20 to 1,200 runs per point."
    )


def test_hostile_group_names_stay_text_in_valid_xml() -> None:
    names = ["</text><script>x</script>", "$unbalanced", "_hidden", "nul\0bell\7", "话题", "a" * 300]
    figure = curve([row(0.5, 0.5, name) for name in names])
    assert not [element for element in ET.fromstring(figure.svg).iter() if element.tag.endswith("script")]
    shown = {text.strip() for text in texts(figure)}
    assert {"</text><script>x</script>", "$unbalanced", "_hidden", "nul\ufffdbell\ufffd", "话题"} <= shown


def test_values_that_are_not_known_leave_a_hole_instead_of_an_error() -> None:
    rows = [row(0.2, None), row(0.4, math.nan), row(np.float64(0.6), np.float32(0.5), ci95=None), row(1, 1.0)]
    assert curve(rows).svg == curve(rows[2:]).svg


def test_one_point_alone_can_be_drawn_also_on_log_axes() -> None:
    ET.fromstring(curve([row(1000, 5000.0, metric="messages")], "messages", log_x=True, log_y=True).svg)


def test_no_matching_row_is_refused_with_the_metric_named() -> None:
    with pytest.raises(ValueError, match="'latency'"):
        curve(TWO_GROUPS, "latency")


def test_words_on_the_x_axis_are_refused() -> None:
    with pytest.raises(ValueError, match="use bars"):
        curve([row("push", 0.5)])


def test_a_second_swept_field_must_be_named_and_then_gives_a_line_per_value() -> None:
    rows = [row(at, 0.5, point={"params.electors_most": count}) for at in (0.5, 1.0) for count in (10, 5)]
    with pytest.raises(ValueError, match="by="):
        curve(rows)
    shown = texts(curve(rows, by="params.electors_most"))
    assert shown.index("electors most = 5") < shown.index("electors most = 10")


def test_names_stand_as_they_are_in_the_order_people_expect() -> None:
    rows = [row(at, 0.5, point={"case": case}) for at in (0.5, 1.0) for case in ("D = 12", "as it is", "D = 4")]
    shown = texts(curve(rows, by="case"))
    assert [text for text in shown if text.startswith(("D", "as"))] == ["D = 4", "D = 12", "as it is"]


def test_small_shares_are_drawn_at_their_own_scale() -> None:
    shown = texts(curve([row(at, at / 6, metric="spurious") for at in (0.2, 0.6)], "spurious"))
    assert "10\u00a0%" in shown
    assert "100\u00a0%" not in shown


def test_bars_show_their_values_and_labels() -> None:
    figure = bars(["push", "pull"], {"ours": [0.95, 0.991]}, name="b", title="B", y_label="delivered", share=True,
                  errors={"ours": [0.01, 0.002]})  # fmt: skip
    assert {"push", "pull", "95\u00a0%", "99.1\u00a0%", "delivered"} <= set(texts(figure))


def test_bars_of_the_wrong_length_are_refused() -> None:
    with pytest.raises(ValueError, match="'ours'"):
        bars(["a", "b"], {"ours": [1.0]}, name="b", title="B", y_label="y")


def test_a_paper_value_over_a_bar_is_named_in_the_key_after_the_bars() -> None:
    shown = texts(bars(["a"], {"ours": [1.0], "theirs": [2.0]}, name="b", title="B", y_label="y",
                       references=[Reference("paper", [0], [1.5], group="ours")]))  # fmt: skip
    assert [text for text in shown if text in {"ours", "theirs", "paper"}] == ["ours", "theirs", "paper"]


def test_dots_stand_in_a_row_per_label_and_shares_on_the_whole_scale() -> None:
    series = {"half": [0.95, 0.991], "all": [0.9, 0.97]}
    shown = texts(dots(["push", "pull"], series, name="d", title="D", x_label="reached", share=True,
                       errors={key: [0.1, 0.002] for key in series}))  # fmt: skip
    assert {"push", "pull", "half", "all", "reached", "0\u00a0%", "100\u00a0%"} <= set(shown)


def test_dots_of_many_sizes_are_told_apart_on_a_log_axis() -> None:
    shown = texts(dots(["few", "many"], {"copies": [2.0, 3000.0]}, name="d", title="D", x_label="copies", log_x=True,
                       errors={"copies": [5.0, 1.0]}))  # fmt: skip
    assert {"10", "100", "1,000"} <= set(shown)


def test_saving_writes_both_formats(tmp_path: Path) -> None:
    svg, png = save(drawn(), tmp_path / "new")
    assert (svg.name, png.name) == ("curve.svg", "curve.png")
    assert ET.parse(svg).getroot().tag.endswith("svg")
    assert png.read_bytes().startswith(b"\x89PNG")


def test_a_name_that_would_leave_the_folder_is_refused() -> None:
    with pytest.raises(ValueError, match="name"):
        lines(TWO_GROUPS, name="../x", title="T", x="faults.fraction", metric="reception")
