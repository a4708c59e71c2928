"""Measures of overlays against the plainest way to take them: sets, and breadth-first search from everywhere."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.core.intervals import half_width
from gossamer.fast import measures

Interests = list[set[int]]
Links = list[tuple[int, int]]


def arrays(interests: Interests) -> tuple[Any, Any]:
    starts = np.concatenate([[0], np.cumsum([len(each) for each in interests])]).astype(np.int64)
    return starts, np.array([topic for each in interests for topic in sorted(each)], np.int32)


def pairs(links: Links) -> Any:
    return np.array(links, np.int32).reshape(-1, 2)


def distances(members: Sequence[int], links: Links, start: int) -> dict[int, int]:
    """Hops from one member to each it can reach by links between members."""
    found, front = {start: 0}, [start]
    while front:
        ahead = [b if a == here else a for here in front for a, b in links if here in (a, b)]
        front = [each for each in dict.fromkeys(ahead) if each in members and each not in found]
        found |= {each: max(found.values()) + 1 for each in front}
    return found


def plainly(members: Sequence[int], links: Links) -> tuple[int, int, int]:
    """Components, size of the largest, diameter."""
    reached = {member: distances(members, links, member) for member in members}
    together = {frozenset(each) for each in reached.values()}
    longest = max((max(each.values()) for each in reached.values()), default=0)
    return len(together), max(map(len, together), default=0), longest


TOPICS = 5


@st.composite
def overlays(draw: st.DrawFn) -> tuple[Interests, Links]:
    interests = draw(st.lists(st.sets(st.integers(0, TOPICS - 1), max_size=4), min_size=1, max_size=14))
    possible = list(combinations(range(len(interests)), 2))
    return interests, sorted(draw(st.sets(st.sampled_from(possible), max_size=20))) if possible else []


@given(overlays())
def test_components_and_diameters_are_those_that_search_from_everywhere_finds(overlay: tuple[Interests, Links]) -> None:
    interests, links = overlay
    found = measures.measure(*arrays(interests), TOPICS, pairs(links))
    for topic in range(TOPICS):
        members = [node for node, wants in enumerate(interests) if topic in wants]
        here = (found.components_by_topic[topic], found.largest_by_topic[topic], found.diameter_by_topic[topic])
        assert here == plainly(members, links)
        assert found.subscribers_by_topic[topic] == len(members)
    everybody = plainly(range(len(interests)), links)
    assert (found.components_overlay, found.diameter_overlay) == (everybody[0], everybody[2])
    assert found.diameter_overlay_exact
    assert found.diameter_topic_exact
    assert found.diameter_topic_max == max(found.diameter_by_topic)
    assert found.components == sum(found.components_by_topic)
    assert found.topics_populated == len(set().union(*interests))
    assert found.topics_partitioned == sum(count > 1 for count in found.components_by_topic)


@given(overlays())
def test_a_bound_is_labelled_and_never_above_the_diameter(overlay: tuple[Interests, Links]) -> None:
    interests, links = overlay
    exact = measures.measure(*arrays(interests), TOPICS, pairs(links))
    bound = measures.measure(*arrays(interests), TOPICS, pairs(links), exact_up_to=2)
    assert bound.diameter_overlay <= exact.diameter_overlay
    assert (bound.diameter_by_topic <= exact.diameter_by_topic).all()
    assert (bound.exact_by_topic == (exact.largest_by_topic <= 2)).all()
    assert bound.diameter_topic_exact == all(bound.exact_by_topic)
    assert (bound.diameter_by_topic[bound.exact_by_topic] == exact.diameter_by_topic[bound.exact_by_topic]).all()
    assert list(bound.components_by_topic) == list(exact.components_by_topic)


def diameter(nodes: int, links: Links, exact_up_to: int = measures.EXACT_UP_TO) -> tuple[int, bool]:
    found = measures.explore(measures.overlay_graph(nodes, pairs(links)), exact_up_to)
    return int(found.diameters[0]), bool(found.exact[0])


def test_sweeps_find_the_ends_of_a_path_and_of_a_tree() -> None:
    path = [(node, node + 1) for node in range(299)]
    assert diameter(300, path, exact_up_to=100) == (299, False)
    assert diameter(300, path) == (299, True)
    tree = [((node - 1) // 2, node) for node in range(1, 1023)]
    assert diameter(1023, tree, exact_up_to=100) == (18, False)


def test_more_sources_than_a_word_has_bits_are_all_asked() -> None:
    ring = [(node, (node + 1) % 201) for node in range(201)]
    chord = [*ring, (0, 100)]
    expected = plainly(range(201), chord)[2]
    assert diameter(201, chord) == (expected, True)


@given(overlays(), st.integers(1, 16))
@settings(max_examples=50)
def test_tdi_is_what_its_definition_says(overlay: tuple[Interests, Links], depth: int) -> None:
    interests = [wants for wants in overlay[0] if wants]
    starts, topics = arrays([*interests, set()])  # one who wants nothing changes nothing
    each = []
    for node, wants in enumerate(interests):
        others = interests[:node] + interests[node + 1 :]
        alike = sorted((100 * len(wants & other) / min(len(wants), len(other)) for other in others), reverse=True)
        each.append(sum(alike[:depth]) / max(1, min(depth, len(alike))))
    expected = sum(each) / len(each) if len(each) > 1 else 0.0
    assert measures.tdi(starts, topics, TOPICS, depth).mean == pytest.approx(expected)


def test_tdi_of_many_nodes_is_that_of_a_sample_and_says_so() -> None:
    rng = np.random.default_rng(5)
    interests = [set(rng.choice(20, 4, replace=False).tolist()) for _ in range(600)]
    starts, topics = arrays(interests)
    exact = measures.tdi(starts, topics, 20, 10)
    sample = measures.tdi(starts, topics, 20, 10, exact_up_to=100, sample=150)
    assert (exact.sampled, exact.ci95, sample.sampled) == (False, 0.0, True)
    assert 0 < abs(sample.mean - exact.mean) < 2 * sample.ci95


@given(overlays())
def test_a_link_carries_one_compound_for_all_topics_its_ends_share(overlay: tuple[Interests, Links]) -> None:
    interests, links = overlay
    found = measures.measure(*arrays(interests), TOPICS, pairs(links), tdi_depth=0)
    shared = [len(interests[a] & interests[b]) for a, b in links]
    assert found.messages_separate == sum(shared)
    assert found.messages_compound == sum(count > 0 for count in shared)
    assert found.messages_saved == pytest.approx(1 - found.messages_compound / sum(shared) if sum(shared) else 0)
    assert found.topics_per_link == pytest.approx(sum(shared) / len(links) if links else 0)
    assert found.tdi is None


@given(overlays())
def test_degrees_are_counted_at_both_ends(overlay: tuple[Interests, Links]) -> None:
    interests, links = overlay
    each = [sum(node in link for link in links) for node in range(len(interests))]
    found = measures.degrees(len(interests), pairs(links))
    assert found.mean == pytest.approx(2 * len(links) / len(interests))
    assert found.max == max(each)
    assert list(found.histogram) == [each.count(degree) for degree in range(max(each) + 1)]
    if len(each) > 1:
        assert found.ci95 == pytest.approx(half_width([*map(float, each)]))


def test_nobody_at_all_measures_nothing() -> None:
    found = measures.measure(*arrays([]), 3, pairs([]))
    assert (found.nodes, found.degree_max, found.components, found.diameter_overlay) == (0, 0, 0, 0)


def test_components_can_be_had_alone() -> None:
    interests: Interests = [{0, 1}, {0}, {1}, {0, 1}]
    links = [(0, 1), (1, 3)]
    assert list(measures.components(*arrays(interests), 3, pairs(links))) == [1, 3, 0]
