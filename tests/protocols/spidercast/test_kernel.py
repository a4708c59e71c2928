"""The kernel of overlays: what it does where machines would be too slow, and what no reader of results would see."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from gossamer.core.draws import VIEW, distinct, fold
from gossamer.core.errors import Misuse
from gossamer.fast import measures
from gossamer.fast.compile import compiled
from gossamer.fast.spidercast import KERNEL, build
from gossamer.protocols.spidercast.experiment import static
from gossamer.protocols.spidercast.experiment.setting import InterestArrays, OverlaySetting
from gossamer.protocols.spidercast.experiment.workload import Workload
from gossamer.protocols.spidercast.kernel import arrays, choosing
from gossamer.protocols.spidercast.kernel import columns as col
from gossamer.protocols.spidercast.params import Params


def wanting(*rows: list[int], topics: int = 100) -> InterestArrays:
    """Interests written out."""
    starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return InterestArrays(starts, np.array([topic for row in rows for topic in row], np.int32), topics)


def setting(interests: InterestArrays, **params: Any) -> OverlaySetting:
    return OverlaySetting(interests=interests, params=Params(**params))


def partitioned(interests: InterestArrays, links: Any) -> int:
    found = measures.measure(interests.starts, interests.topics, interests.topic_count, links, exact_up_to=-1)
    return found.topics_partitioned


def with_rare_topics(nodes: int = 2000) -> InterestArrays:
    """News feeds; besides them node 7 alone wants topic 100, nodes 11 and 1500 want topic 101."""
    plain = Workload(nodes=nodes).interests(1)
    rows = [plain.of(node) for node in range(nodes)]
    rows[7].append(100)
    rows[11].append(101)
    rows[1500].append(101)
    return wanting(*rows, topics=102)


@pytest.mark.parametrize("params", [{}, {"view": 100, "rendezvous": True}])
def test_the_only_two_who_want_a_topic_are_linked_and_who_is_alone_with_one_has_no_more_links(
    params: dict[str, Any],
) -> None:
    interests = with_rare_topics()
    overlay = build(setting(interests, **params), 1)
    assert [11, 1500] in overlay.links.tolist()
    assert overlay.degree[7] <= overlay.degree.mean() + 3 * overlay.degree.std()
    assert partitioned(interests, overlay.links) == 0
    assert overlay.at_rest


def test_in_a_small_view_rare_topics_fall_apart_and_homes_bring_them_together() -> None:
    interests = Workload(nodes=2000, popularity="nyse").interests(1)
    without, asked = (build(setting(interests, view=30, rendezvous=on), 1) for on in (False, True))
    assert partitioned(interests, without.links) > 20
    assert partitioned(interests, asked.links) == 0
    assert asked.degree.mean() < 1.1 * without.degree.mean()
    assert 0 < asked.messages["seek"] == asked.messages["found"]


def test_of_equally_good_candidates_all_are_chosen_equally_often() -> None:
    """Biased ties raise the highest degree, and partition interests that are much alike."""
    interests = wanting([1], *[[1, 2 + i] for i in range(8)])
    chosen: Counter[int] = Counter()
    for seed in range(400):
        room = arrays.prepare(setting(interests, greedy=1), seed)
        compiled(KERNEL, parallel=False)(*room, 1)
        chosen[int(room.greedy.nodes[0, col.CHOICE])] += 1
    assert set(chosen) == set(range(1, 9))
    assert sum((count - 50) ** 2 / 50 for count in chosen.values()) < 24.3  # chi² of 7 degrees of freedom, 0.1 %


def test_interests_that_are_much_alike_stay_connected_with_even_degrees() -> None:
    interests = Workload(nodes=3000, popularity="zipf", exponent=2.0).interests(1)
    overlay = build(setting(interests), 1)
    assert partitioned(interests, overlay.links) == 0
    assert overlay.degree.max() <= 20


def test_views_are_drawn_again_as_they_were() -> None:
    """The kernel's way to a view is not `distinct` itself; what it sees is the same."""
    room = arrays.prepare(setting(Workload(nodes=90).interests(1), view=25), 4)
    for who in (0, 41, 89):
        with np.errstate(over="ignore"):
            known = choosing.see(room.net, np.int64(who), room.scratch.bits[0], room.scratch.numbers[0])
        words = room.net.how[col.WORDS]
        expected = [place + (place >= who) for place in distinct(fold(fold(4, VIEW), who), 89, 25)]
        assert room.scratch.numbers[0, words : words + known].tolist() == expected
        assert not room.scratch.bits[0, words:].any()


@pytest.mark.slow  # compiled once more, for threads
def test_threads_make_no_difference() -> None:
    made = setting(Workload(nodes=1500).interests(3), view=100, random=1)
    one, two = build(made, 3), build(made, 3, threads=2)
    assert np.array_equal(one.links, two.links)
    assert one.messages == two.messages


def test_more_topics_than_fit_a_word_and_a_bit() -> None:
    interests = wanting([0, 63, 64, 127, 128, 999], [63, 128], [64, 999], [0, 127], [5], topics=1000)
    overlay = build(setting(interests, greedy=1), 1)
    assert {0, 1, 2, 3} == {int(end) for link in overlay.links for end in link}
    assert partitioned(interests, overlay.links) == 0


@pytest.mark.parametrize("rows", [[], [[]], [[1]], [[], [2], []], [[1], [2], [3]]])
def test_who_has_nothing_in_common_with_anybody_has_no_link(rows: list[list[int]]) -> None:
    overlay = build(setting(wanting(*rows), rendezvous=True), 1)
    assert overlay.links.shape == (0, 2)
    assert overlay.at_rest
    assert overlay.rounds == 0


def test_what_a_link_covers_are_the_topics_that_were_not_covered_when_it_was_chosen() -> None:
    """Node 0 takes node 1 for three of its topics, then node 2 for the fourth, though they share two."""
    interests = wanting([1, 2, 3, 4], [1, 2, 3], [3, 4])
    overlay = build(setting(interests, greedy=1), 1)
    assert overlay.links.tolist() == [[0, 1], [0, 2]]
    made = overlay.messages["connect_ok"]
    # 1 chooses 0 for all it wants, and so does 2; 0 chooses 1 at the same time.
    assert (made, overlay.covered) == (3, 3 + 3 + 2)


def test_one_giant_topic_is_connected() -> None:
    interests = wanting(*[[0]] * 3000)
    overlay = build(setting(interests), 1)
    assert partitioned(interests, overlay.links) == 0
    assert overlay.degree.max() <= 3 + 5


def test_a_run_that_is_cut_short_says_so() -> None:
    made = OverlaySetting(interests=Workload(nodes=200).interests(1), rounds_max=3)
    overlay = build(made, 1)
    assert (overlay.at_rest, overlay.rounds) == (False, 3)
    with pytest.raises(Misuse, match="rounds_max"):
        OverlaySetting(interests=made.interests, rounds_max=0)


def test_a_home_is_the_next_node_on_the_ring() -> None:
    homes = static.homes(50, 300, 9)
    ring, wanted = (static.places(9, which, count) for which, count in ((0, 50), (1, 300)))
    for topic in range(300):
        further = [(int(place) - int(wanted[topic])) % 2**64 for place in ring]
        assert homes[topic] == int(np.argmin(further))


@pytest.mark.parametrize("kind", ["insist", "patient"])
def test_what_only_live_nodes_do_is_not_left_out_in_silence(kind: str) -> None:
    with pytest.raises(Misuse, match="build with machines"):
        build(setting(wanting([0], [0]), **{kind: True}), 1)
