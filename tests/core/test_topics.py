"""Topics are checked once, and order themselves: by name, and by further super-topics beside the named one."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import TypeAlias
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import ValidationError, convert

from gossamer.core.errors import Misuse
from gossamer.core.topics import ROOT, Hierarchy, Topic, _no_letter, named_super, topic

SEGMENTS = st.text("abcé-_09日", min_size=1, max_size=4)
NAMES = st.lists(SEGMENTS, max_size=4).map(lambda segments: "." + ".".join(segments))
Drawn: TypeAlias = tuple[Hierarchy, list[Topic], dict[Topic, list[Topic]]]


@pytest.mark.parametrize(
    "name", [".", ".soccer", ".soccer.italy", ".soccer.italy.serie-a_2", ".été.日本", "." + "x" * 64]
)
def test_a_good_name_comes_back_unchanged(name: str) -> None:
    assert topic(name) == name


@given(NAMES)
def test_any_dotted_printable_name_is_a_topic(name: str) -> None:
    assert topic(name) == name


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("", "must start with a dot, like '.soccer'"),
        ("soccer", "topic 'soccer' must start with a dot, like '.soccer'"),
        ("soccer.italy", "must start with a dot, like '.soccer.italy'"),
        (" .soccer", "must start with a dot"),
        ("..", "topic '..' has an empty segment"),
        (".soccer.", "topic '.soccer.' has an empty segment"),
        (".soccer..italy", "has an empty segment: write one name between two dots"),
        (".soccer italy", "has a space or unprintable character in 'soccer italy': use letters, digits, - or _"),
        (".soccer\t", "has a space or unprintable character"),
        (".soccer\u00a0italy", "has a space or unprintable character"),
        (".soccer\x00", "has a space or unprintable character"),
        (".soccer\u200b", "has a space or unprintable character"),
        (".soccer\ud800", "has a space or unprintable character"),
        (".soccer\x9b", "has a space or unprintable character"),
        (".soccer\u202e", "has a space or unprintable character"),
        (".soccer\U000e0041", "has a space or unprintable character"),
        ("." + "x" * 65, "has a segment longer than 64 letters: shorten it"),
        ("." + "é" * 65, "has a segment longer than 64 letters: shorten it"),
        (".abc" * 64, "is longer than 255 letters: shorten it"),
    ],
)
def test_a_bad_name_is_refused_in_one_sentence_that_says_what_to_do(name: str, complaint: str) -> None:
    with pytest.raises(Misuse) as refusal:
        topic(name)
    sentence = str(refusal.value)
    assert complaint in sentence
    assert "\n" not in sentence
    assert len(sentence) < 200


@given(st.text(max_size=300))
def test_any_text_is_either_a_topic_or_a_misuse(name: str) -> None:
    with suppress(Misuse):
        assert topic(name) == name


UNSEEN = (
    "\x00\t\n\x1b\x7f\x85\x9b\xa0\xad\u061c\u200b\u200f\u2028\u202e\u2066\u3000\ufeff\ud800\ue000\U000e0001\U0010ffff"
)


@given(st.one_of(st.text(max_size=300), st.text(f".ab{UNSEEN}", max_size=12), NAMES))
def test_one_rule_holds_for_our_users_names_and_our_peers(name: str) -> None:
    try:
        assert convert(name, Topic) == name
    except ValidationError:
        with pytest.raises(Misuse):
            topic(name)
    else:
        assert topic(name) == name


@pytest.mark.parametrize("letter", UNSEEN)
def test_nothing_that_steers_a_screen_is_part_of_a_name(letter: str) -> None:
    with pytest.raises(ValidationError):
        convert(f".soccer{letter}", Topic)


def test_no_letter_this_python_can_print_but_a_space_is_kept_out_of_names() -> None:
    """And of those it cannot, the ones that steer or hide are: what is not assigned yet may be a letter tomorrow."""
    for number in range(0x110000):
        letter = chr(number)
        kind = category(letter)
        if kind != "Cn":
            assert bool(_no_letter.match(letter)) == (kind[0] in "CZ"), hex(number)


def test_a_name_of_exactly_the_greatest_length_is_a_topic() -> None:
    assert topic("." + ".".join(["x" * 50] * 4 + ["y" * 50]))
    with pytest.raises(Misuse, match="255 letters"):
        topic("." + ".".join(["x" * 50] * 4 + ["y" * 51]))


def test_the_name_tells_the_super_topic() -> None:
    assert named_super(".soccer.italy") == ".soccer"
    assert named_super(".soccer") == ROOT
    assert named_super(ROOT) is None


@given(st.text(max_size=20))
def test_climbing_from_any_text_ends_at_the_root(name: str) -> None:
    """A peer may send any text as a topic: questions about it must have an end."""
    above: Topic | None = name
    for _ in range(len(name) + 2):
        above = named_super(above) if above is not None else None
    assert above is None
    assert Hierarchy().includes(ROOT, name)


def test_a_topic_includes_itself_its_subtopics_and_nothing_else() -> None:
    order = Hierarchy()
    assert order.includes(".soccer", ".soccer")
    assert order.includes(".soccer", ".soccer.italy")
    assert order.includes(".soccer", ".soccer.italy.milan")
    assert order.includes(ROOT, ".soccer.italy")
    assert not order.includes(".soccer.italy", ".soccer")
    assert not order.includes(".soccer", ".soccernews")
    assert not order.includes(".soccer", ROOT)


def test_a_topic_may_have_several_parents() -> None:
    order = Hierarchy({".soccer.italy": [".countries.italy", ".news"]})
    assert order.parents(".soccer.italy") == (".soccer", ".countries.italy", ".news")
    assert order.includes(".countries", ".soccer.italy.milan")
    assert order.parents(".soccer.italy.milan") == (".soccer.italy",)
    assert not order.includes(".countries", ".soccer.spain")


def test_a_parent_that_another_parent_implies_is_left_out() -> None:
    assert Hierarchy({".a.b": ["."]}).parents(".a.b") == (".a",)
    assert Hierarchy({".x": [".p.q"]}).parents(".x") == (".p.q",)
    assert Hierarchy({".x": [".p.q", ".p", ".p.q"]}).parents(".x") == (".p.q",)
    assert Hierarchy({".a.b": [".c"], ".c": [".a"]}).parents(".a.b") == (".c",)


def test_the_root_has_neither_parents_nor_ancestors() -> None:
    assert Hierarchy().parents(ROOT) == ()
    assert Hierarchy().ancestors(ROOT) == ()


def test_ancestors_come_nearest_first() -> None:
    assert Hierarchy().ancestors(".a.b.c") == (".a.b", ".a", ".")
    assert Hierarchy({".x": [".p.q"]}).ancestors(".x") == (".p.q", ".p", ".")
    assert Hierarchy({".x": [".p.q"]}).ancestors(".x.y") == (".x", ".p.q", ".p", ".")


@pytest.mark.parametrize(
    ("further", "cycle"),
    [
        ({".a": [".a"]}, ".a → .a"),
        ({".": [".a"]}, ". → .a → ."),
        ({".a": [".a.b"]}, ".a → .a.b → .a"),
        ({".a": [".b"], ".b": [".a"]}, ".a → .b → .a"),
        ({".a": [".b"], ".b": [".c"], ".c": [".a"], ".z": [".a"]}, ".a → .b → .c → .a"),
    ],
)
def test_a_circle_of_topics_is_refused_by_name(further: Mapping[Topic, Sequence[Topic]], cycle: str) -> None:
    with pytest.raises(Misuse, match="circle") as refusal:
        Hierarchy(further)
    named = str(refusal.value).partition(": ")[2].partition(";")[0].split(" → ")
    assert named[0] == named[-1]
    assert circle(named[:-1]) == circle(cycle.split(" → ")[:-1])


def circle(names: Sequence[Topic]) -> tuple[Topic, ...]:
    """The same circle, begun at its least name."""
    first = names.index(min(names))
    return (*names[first:], *names[:first])


def test_a_bad_name_among_the_parents_is_refused() -> None:
    with pytest.raises(Misuse, match="empty segment"):
        Hierarchy({".a": [".b..c"]})
    with pytest.raises(Misuse, match="must start with a dot"):
        Hierarchy({"a": [".b"]})


def test_a_ladder_of_diamonds_is_checked_without_walking_every_way_up() -> None:
    """Two parents on each of sixty steps make 2**60 ways up."""
    further = {f".{side}{step}": [f".l{step + 1}", f".r{step + 1}"] for step in range(60) for side in "lr"}
    assert len(Hierarchy(further).ancestors(".l0")) == 2 * 60 + 1


def test_a_very_long_chain_of_parents_is_fine() -> None:
    order = Hierarchy({f".t{step}": [f".t{step + 1}"] for step in range(3000)})
    assert order.ancestors(".t0")[:2] == (".t1", ".t2")
    assert len(order.ancestors(".t0")) == 3001


def test_events_climb_past_empty_communities_to_the_nearest_ones_with_people_in_them() -> None:
    order = Hierarchy({".a.b.c": [".x.y"]})
    assert order.nearest_populated(".a.b.c", [".a.b", ".x.y", "."]) == (".a.b", ".x.y")
    assert order.nearest_populated(".a.b.c", [".a", ".x.y", "."]) == (".x.y", ".a")
    assert order.nearest_populated(".a.b.c", [".a", "."]) == (".a",)
    assert order.nearest_populated(".a.b.c", ["."]) == (".",)
    assert order.nearest_populated(".a.b.c", [".elsewhere", ".a.b.c"]) == ()


def test_answers_about_ever_new_topics_do_not_pile_up() -> None:
    order = Hierarchy()
    for number in range(30_000):
        order.parents(f".t{number}")
    assert len(order._ancestors) + len(order._parents) < 25_000
    assert order.parents(".t1") == (ROOT,)


@st.composite
def hierarchies(draw: st.DrawFn) -> Drawn:
    """An order over a few topics, the topics, and their stated parents; parents are listed earlier, hence no cycle."""
    listed: list[Topic] = [ROOT]

    def enlist(name: Topic) -> None:
        above = named_super(name)
        if above is not None and name not in listed:
            enlist(above)
            listed.append(name)

    for name in draw(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=3), max_size=6)):
        enlist("." + ".".join(name))
    further = {
        name: draw(st.lists(st.sampled_from(listed[:place]), max_size=2)) for place, name in enumerate(listed) if place
    }
    stated = {name: [*further.get(name, ()), *([above] if (above := named_super(name)) else [])] for name in listed}
    return Hierarchy(further), listed, stated


def above_by_hand(name: Topic, stated: Mapping[Topic, Sequence[Topic]]) -> set[Topic]:
    return {name}.union(*(above_by_hand(each, stated) for each in stated[name]))


@given(hierarchies())
def test_inclusion_is_what_walking_up_by_hand_finds(drawn: Drawn) -> None:
    order, topics, stated = drawn
    for narrow in topics:
        assert {wide for wide in topics if order.includes(wide, narrow)} == above_by_hand(narrow, stated)


@given(hierarchies())
def test_inclusion_is_a_partial_order(drawn: Drawn) -> None:
    order, topics, _ = drawn
    for a in topics:
        assert order.includes(a, a)
        for b in topics:
            assert a == b or not (order.includes(a, b) and order.includes(b, a))
            for c in topics:
                assert order.includes(a, c) or not (order.includes(a, b) and order.includes(b, c))


@given(hierarchies())
def test_an_ancestor_never_stands_before_one_it_includes(drawn: Drawn) -> None:
    order, topics, _ = drawn
    for name in topics:
        ancestors = order.ancestors(name)
        assert name not in ancestors
        assert len(set(ancestors)) == len(ancestors)
        for place, wide in enumerate(ancestors):
            assert not any(order.includes(wide, nearer) for nearer in ancestors[place + 1 :])


@given(hierarchies())
def test_parents_never_imply_one_another_and_lead_to_every_ancestor(drawn: Drawn) -> None:
    order, topics, _ = drawn
    for name in topics:
        parents = order.parents(name)
        assert not any(order.includes(a, b) for a in parents for b in parents if a != b)
        assert {*parents}.union(*(order.ancestors(each) for each in parents)) == set(order.ancestors(name))


@given(hierarchies(), st.data())
def test_the_nearest_populated_are_ancestors_of_which_every_other_populated_one_includes_some(
    drawn: Drawn, data: st.DataObject
) -> None:
    order, topics, _ = drawn
    name = data.draw(st.sampled_from(topics))
    populated = data.draw(st.lists(st.sampled_from(topics), unique=True))
    nearest = order.nearest_populated(name, populated)
    assert set(nearest) <= set(populated) & set(order.ancestors(name))
    assert not any(order.includes(a, b) for a in nearest for b in nearest if a != b)
    for wide in set(populated) & set(order.ancestors(name)):
        assert any(order.includes(wide, near) for near in nearest)


@given(hierarchies(), st.data())
def test_a_parent_that_lies_below_always_makes_a_circle(drawn: Drawn, data: st.DataObject) -> None:
    order, topics, stated = drawn
    low = data.draw(st.sampled_from(topics))
    high = data.draw(st.sampled_from([low, *order.ancestors(low)]))
    further = {**order.further, high: (*order.further.get(high, ()), low)}
    with pytest.raises(Misuse, match="circle") as refusal:
        Hierarchy(further)
    named = str(refusal.value).partition(": ")[2].partition(";")[0].split(" → ")
    stated[high] = [*stated[high], low]
    assert all(above in stated[below] for below, above in pairwise(named))
