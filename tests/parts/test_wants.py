"""Wants: what is told of a node's topics, and what can be told from it."""

from hypothesis import example, given
from hypothesis import strategies as st

from gossamer.core.topics import ROOT, Hierarchy
from gossamer.parts.wants import (
    CHAIN_MAX,
    NOTHING,
    PART_BYTES_MAX,
    WANTS_BYTES_MAX,
    WORD_BYTES,
    Wants,
    chain_of,
    word_of,
)

PLAIN = Hierarchy()
WORDS = st.integers(0, 2 ** (8 * WORD_BYTES) - 1)
FEW_WORDS = st.integers(0, 4)
CHAINS = st.lists(st.one_of(WORDS, FEW_WORDS), max_size=6).map(tuple)
TOPICS = st.lists(st.sampled_from("abc"), max_size=4).map(lambda parts: "." + ".".join(parts))


def same(topic: str) -> str:
    return topic


def wants(*topics: str) -> Wants:
    return Wants.of(topics, PLAIN, same)


def chain(topic: str) -> tuple[int, ...]:
    return chain_of(topic, PLAIN, same)


@given(st.lists(CHAINS, max_size=40))
def test_what_is_packed_is_read_again(chains: list[tuple[int, ...]]) -> None:
    told = Wants(chains)
    again = Wants.read(told.packed)
    assert again == told
    assert again is not None
    assert again.word == told.word
    assert {*again.chains} == {*chains}


@given(st.lists(CHAINS, max_size=20), st.randoms(use_true_random=False))
def test_the_same_wants_are_the_same_bytes_in_whatever_order_they_are_told(
    chains: list[tuple[int, ...]], chance: object
) -> None:
    mixed = [*chains, *chains[:3]]
    chance.shuffle(mixed)  # type: ignore[attr-defined]
    assert Wants(mixed).packed == Wants(chains).packed


@given(st.binary(max_size=200))
@example(b"\x00")
@example(b"\x01\x00")
@example(b"\x00\x00\x00\x00")
@example(b"\x00\x01abc")
@example(b"\x00\xff" + b"x" * 1530)
@example(b"\x00\x01bbbbbb\x00\x01aaaaaa")
def test_bytes_that_nobody_packed_are_refused_and_never_raise(packed: bytes) -> None:
    told = Wants.read(packed)
    assert told is None or told.packed == packed


@given(st.lists(CHAINS, min_size=1, max_size=10), st.data())
def test_one_changed_byte_is_refused_or_means_something_else(
    chains: list[tuple[int, ...]], data: st.DataObject
) -> None:
    told = Wants(chains)
    at = data.draw(st.integers(0, len(told.packed) - 1))
    packed = bytearray(told.packed)
    packed[at] ^= data.draw(st.integers(1, 255))
    assert Wants.read(bytes(packed)) != told


@given(st.lists(TOPICS, max_size=8), TOPICS)
def test_wants_cover_a_topic_where_the_hierarchy_says_so(topics: list[str], asked: str) -> None:
    told = Wants.read(wants(*topics).packed)
    assert told is not None
    assert told.covers(chain(asked)) == any(PLAIN.includes(each, asked) for each in topics)
    below = asked not in topics and any(PLAIN.includes(each, asked) for each in topics)
    assert told.includes(chain(asked)) == below


def test_a_subtopic_does_not_cover_the_topic_it_is_in() -> None:
    assert not wants(".a.b").covers(chain(".a"))
    assert wants(".a").covers(chain(".a.b"))


def test_the_root_covers_everything_and_only_itself_covers_the_root() -> None:
    assert wants(ROOT).covers(chain(".a.b"))
    assert wants(ROOT).covers(chain(ROOT))
    assert not wants(".a").covers(chain(ROOT))
    assert not NOTHING.covers(chain(".a"))


def test_further_super_topics_count() -> None:
    both = Hierarchy({".a.b": [".x"]})
    asked = chain_of(".a.b", both, same)
    assert Wants.of([".x"], both, same).covers(asked)
    assert Wants.of([".a"], both, same).covers(asked)
    assert Wants.of([".x"], both, same).includes(asked)


def test_nobody_reads_names_from_wants_of_a_network_with_a_key() -> None:
    told = Wants.of([".secret"], PLAIN, lambda topic: f"keyed {topic}")
    assert not told.covers(chain(".secret"))
    assert b"secret" not in wants(".secret").packed


def test_shared_counts_the_topics_that_are_covered() -> None:
    assert wants(".a", ".b.c").shared(wants(".a.x", ".b", ".b.c", ".d").chains) == 2


def test_seventy_topics_take_eight_bytes_each_and_a_common_prefix_is_written_once() -> None:
    assert len(wants(*(f".t{i}" for i in range(70))).packed) == 70 * (2 + WORD_BYTES)
    nested = wants(*(f".long.way.down.t{i}" for i in range(70)))
    assert len(nested.packed) == 70 * (2 + WORD_BYTES) + 3 * WORD_BYTES


def test_chains_that_would_unpack_to_more_than_may_be_held_are_refused() -> None:
    deep = [(*range(CHAIN_MAX - 1), i) for i in range(1000, 3000)]
    assert len(Wants(deep).packed) < WANTS_BYTES_MAX
    assert Wants.read(Wants(deep).packed) is None


def test_a_chain_longer_than_any_name_is_refused() -> None:
    assert Wants.read(Wants([tuple(range(CHAIN_MAX))]).packed) is not None
    assert Wants.read(Wants([tuple(range(CHAIN_MAX + 1))]).packed) is None


def test_words_of_different_topics_differ() -> None:
    assert len({word_of(f".t{i}") for i in range(10_000)}) == 10_000
    assert Wants([(1,)]) != Wants([(2,)])
    assert len({Wants([(1,)]), Wants([(1,)]), Wants([(2,)])}) == 2


# Of many, those that matter


def test_of_few_all_are_told_and_of_many_those_at_or_below_the_topic_in_question() -> None:
    few = wants(".a", ".b.c", ".d")
    assert few.about(word_of(".b")) is few
    assert few.for_one(wants(".x")) is few
    many = wants(".b", ".b.c", *(f".t{i}" for i in range(1000)))
    assert many.about(word_of(".b")) == wants(".b", ".b.c")
    assert many.about(word_of(".t7")) == wants(".t7")
    assert many.about(word_of(".strange")) == NOTHING


def test_what_is_told_for_another_are_the_topics_that_both_are_concerned_with() -> None:
    many = wants(".a", ".b.c", ".b.d.e", *(f".t{i}" for i in range(1000)))
    assert many.for_one(wants(".b", ".a.x", ".t7")) == wants(".a", ".b.c", ".b.d.e", ".t7")
    assert many.for_one(wants(".b.c.d")) == wants(".b.c")
    everything = wants(ROOT, *(f".t{i}" for i in range(1000)))
    assert everything.for_one(wants(".x")) == wants(ROOT)


@given(st.lists(TOPICS, max_size=8))
def test_a_part_touches_another_if_the_whole_does(topics: list[str]) -> None:
    many, other = wants(".a.b", ".b", *(f".c.a.t{i}" for i in range(200))), wants(*topics)
    assert many.for_one(other).touches(other) == many.touches(other)


def test_a_part_is_short_however_much_there_is_below_a_topic() -> None:
    many = wants(*(f".a.t{i}" for i in range(5000)))
    for part in (many.about(word_of(".a")), many.for_one(wants(".a"))):
        assert 1000 < len(part) < 5000
        assert len(part.packed) <= PART_BYTES_MAX
        assert {*part.chains} <= {*many.chains}
