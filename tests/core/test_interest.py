"""Interest: what this node reads, and which communities that makes it a member of."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.events import Attribute, Event
from gossamer.core.filters import parse
from gossamer.core.ids import EventId
from gossamer.core.interest import NO_CHANGE, Change, Interest
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Hierarchy, Topic

NAMES = [".", ".a", ".a.b", ".a.b.c", ".x", ".x.y"]
TOPICS = st.sampled_from(NAMES)


def interest(*subscribed: Topic, publishing: tuple[Topic, ...] = (), order: Hierarchy | None = None) -> Interest:
    made = Interest(order or Hierarchy())
    for topic in subscribed:
        made.subscribe(Pattern(topic))
    for topic in publishing:
        made.start_publishing(topic)
    return made


def test_a_subscription_wants_its_topic_and_every_subtopic() -> None:
    mine = interest(".a.b")
    assert mine.wants(".a.b")
    assert mine.wants(".a.b.c")
    assert not mine.wants(".a")
    assert not mine.wants(".x")


def test_further_parents_count_too() -> None:
    assert interest(".x", order=Hierarchy({".a.b": [".x"]})).wants(".a.b.c")


def test_a_publisher_is_a_member_but_does_not_read() -> None:
    mine = interest(publishing=(".a",))
    assert mine.takes_part(".a")
    assert mine.mine() == (".a",)
    assert mine.communities(".a.b") == (".a",)
    assert not mine.wants(".a")


def test_a_node_takes_part_only_in_communities_of_its_own_topics() -> None:
    mine = interest(".a")
    assert not mine.takes_part(".a.b")
    assert not mine.takes_part(".")


def test_an_event_concerns_every_community_of_ours_that_includes_its_topic() -> None:
    mine = interest(".", ".a.b", ".x", publishing=(".a", ".a.b"))
    assert mine.mine() == (".", ".a.b", ".x", ".a")
    assert mine.communities(".a.b.c") == (".a.b", ".a", ".")
    assert interest(".x").communities(".a") == ()


def test_a_change_is_noticed_in_answers_given_before() -> None:
    mine = interest(".x")
    assert not mine.wants(".a.b")
    assert mine.communities(".a.b") == ()
    mine.subscribe(Pattern(".a"))
    assert mine.wants(".a.b")
    assert mine.communities(".a.b") == (".a",)
    assert mine.mine() == (".x", ".a")
    mine.unsubscribe(Pattern(".a"))
    assert not mine.wants(".a.b")
    assert mine.communities(".a.b") == ()
    assert mine.mine() == (".x",)


@given(st.lists(TOPICS, unique=True), st.lists(TOPICS, unique=True), TOPICS)
def test_who_wants_an_event_is_in_a_community_that_it_concerns(
    subscribed: list[Topic], publishing: list[Topic], topic: Topic
) -> None:
    mine = interest(*subscribed, publishing=tuple(publishing))
    assert set(mine.mine()) == {*subscribed, *publishing}
    assert set(mine.communities(topic)) == {each for each in mine.mine() if mine.hierarchy.includes(each, topic)}
    assert mine.wants(topic) == any(each in subscribed for each in mine.communities(topic))
    assert not mine.takes_part(topic) or topic in mine.communities(topic)


def test_filters_on_other_topics_are_not_asked() -> None:
    class Asked(dict[str, Attribute]):
        times = 0

        def get(self, name: str, default: Any = None) -> Any:
            self.times += 1
            return super().get(name, default)

    mine, said = Interest(Hierarchy()), Asked(level=5)
    for topic in (".a", ".b", ".c"):
        mine.subscribe(Pattern(topic, "level > 5"))
    assert not mine.matches(Event(EventId(1, 0, 1), ".b", attributes=said))
    assert said.times == 1


# What a change says


def test_a_change_says_what_came_and_which_community_was_joined() -> None:
    mine, plain, some = Interest(Hierarchy()), Pattern(".a"), Pattern(".a", "x > 1")
    assert mine.subscribe(some) == Change(came=(some,), joined=(".a",), followed=(plain,))
    assert mine.subscribe(plain) == Change(came=(plain,))
    assert mine.subscribe(plain) is NO_CHANGE
    assert mine.start_publishing(".a") is NO_CHANGE
    assert mine.start_publishing(".b") == Change(joined=(".b",))
    assert mine.start_publishing(".b") is NO_CHANGE


def test_a_change_says_what_went_and_which_community_was_left() -> None:
    mine, plain, some = interest(".a", publishing=(".a", ".b")), Pattern(".a"), Pattern(".a", "x > 1")
    mine.subscribe(some)
    assert mine.unsubscribe(plain) == Change(went=(plain,))
    assert mine.unsubscribe(plain) is NO_CHANGE
    assert mine.unsubscribe(some) == Change(went=(some,), unfollowed=(plain,))
    assert mine.stop_publishing(".a") == Change(left=(".a",))
    assert mine.stop_publishing(".a") is NO_CHANGE
    assert mine.unsubscribe(Pattern(".never")) is NO_CHANGE


def test_only_the_widest_patterns_are_followed() -> None:
    mine = interest(".a.b", ".a.c", ".x")
    wide = mine.subscribe(Pattern(".a"))
    assert wide.followed == (Pattern(".a"),)
    assert wide.unfollowed == (Pattern(".a.b"), Pattern(".a.c"))
    assert sorted(mine.local()) == [Pattern(".a"), Pattern(".x")]
    assert mine.subscribe(Pattern(".a.b.c")).followed == ()
    assert mine.unsubscribe(Pattern(".a")).followed == (Pattern(".a.b"), Pattern(".a.c"))
    assert sorted(mine.local()) == [Pattern(".a.b"), Pattern(".a.c"), Pattern(".x")]


def test_where_the_spread_knows_filters_they_are_followed_apart() -> None:
    mine = Interest(Hierarchy())
    mine.by_content = True
    assert mine.subscribe(Pattern(".a", "x > 1")).followed == (Pattern(".a", "x > 1"),)
    assert mine.subscribe(Pattern(".a", "x > 2")).followed == ()
    assert mine.subscribe(Pattern(".a", "y")).followed == (Pattern(".a", "y"),)
    assert mine.unsubscribe(Pattern(".a", "x > 1")).followed == (Pattern(".a", "x > 2"),)


ACTS = st.lists(st.tuples(st.sampled_from("susp"), TOPICS, st.sampled_from(["", "x > 1", "x > 2", "y"])), max_size=30)


@given(ACTS, st.booleans(), st.sampled_from([Hierarchy(), Hierarchy({".a.b": [".x"]})]))
def test_whoever_adds_up_the_changes_knows_everything(
    acts: list[tuple[str, Topic, str]], by_content: bool, order: Hierarchy
) -> None:
    mine = Interest(order)
    mine.by_content = by_content
    patterns: set[Pattern] = set()
    topics: set[Topic] = set()
    followed: set[Pattern] = set()
    for act, topic, where in acts:
        pattern = Pattern(topic, where)
        match act:
            case "s":
                change = mine.subscribe(pattern)
            case "u":
                change = mine.unsubscribe(pattern)
            case "p":
                change = mine.stop_publishing(topic) if topic in mine.publishing else mine.start_publishing(topic)
        assert not patterns & {*change.came}
        assert not topics & {*change.joined}
        patterns = (patterns | {*change.came}) - {*change.went}
        topics = (topics | {*change.joined}) - {*change.left}
        followed = (followed | {*change.followed}) - {*change.unfollowed}
        assert patterns == {*mine.patterns}
        assert topics == {*mine.mine()}
        assert followed == {*mine.local()}
        assert {*mine.whole().followed} == followed
        assert {*mine.subscribed} == {each.topic for each in patterns}


@given(st.lists(st.tuples(TOPICS, st.sampled_from(["", "x > 1", "x > 3", "y", "x == 2"])), max_size=8), TOPICS)
def test_an_event_is_read_if_any_of_our_patterns_matches_it(asked: list[tuple[Topic, str]], topic: Topic) -> None:
    mine = Interest(Hierarchy())
    for each in asked:
        mine.subscribe(Pattern(*each))
    for x in range(5):
        event = Event(EventId(1, 0, 1), topic, attributes={"x": x, "y": x % 2 == 0})
        wanted = any(
            mine.hierarchy.includes(wide, topic) and (not where or parse(where).matches(event.attributes))
            for wide, where in asked
        )
        assert mine.matches(event) == wanted
