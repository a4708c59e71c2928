"""Interest: what this node reads, and which communities that makes it a member of."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gossamer.core.events import Attribute, Event
from gossamer.core.ids import EventId
from gossamer.core.interest import Interest
from gossamer.core.patterns import Pattern
from gossamer.core.topics import Hierarchy, Topic

NAMES = [".", ".a", ".a.b", ".a.b.c", ".x", ".x.y"]
TOPICS = st.sampled_from(NAMES)


def interest(*subscribed: Topic, publishing: tuple[Topic, ...] = (), order: Hierarchy | None = None) -> Interest:
    made = Interest(order or Hierarchy())
    made.subscribed.update(dict.fromkeys(subscribed))
    made.publishing.update(dict.fromkeys(publishing))
    made.changed()
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
    assert mine.communities(".a.b.c") == (".", ".a.b", ".a")
    assert interest(".x").communities(".a") == ()


def test_a_change_is_noticed_in_answers_given_before() -> None:
    mine = interest(".x")
    assert not mine.wants(".a.b")
    assert mine.communities(".a.b") == ()
    mine.subscribed[".a"] = None
    mine.changed()
    assert mine.wants(".a.b")
    assert mine.communities(".a.b") == (".a",)


def test_answers_about_ever_new_topics_do_not_pile_up() -> None:
    mine = interest(".a")
    for number in range(25_000):
        mine.wants(f".a.t{number}")
        mine.communities(f".a.t{number}")
    assert len(mine._wanted) <= 10_000
    assert len(mine._communities) <= 10_000
    assert mine.wants(".a.t1")


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
    mine.changed()
    assert not mine.matches(Event(EventId(1, 0, 1), ".b", attributes=said))
    assert said.times == 1
