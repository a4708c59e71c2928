"""The language: what can be said, how it is written back, and what is said about mistakes."""

import copy
import pickle
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.filters.worlds import Tree, text, trees
from gossamer.core.errors import Misuse
from gossamer.core.filters import EVERYTHING, Filter, parse
from gossamer.core.filters.remembering import remembered

EXAMPLES = [
    (
        'symbol in ("IBM", "SAP") and price > 100 and not halted',
        'not halted and price > 100 and symbol in ("IBM", "SAP")',
    ),
    ("100 <= price and price < 200", "100 <= price < 200"),
    ("200 > price >= 100", "100 <= price < 200"),
    ("price == 1 or price == 2.0", "price in (1, 2)"),
    ("price > 1 and price > 5", "price > 5"),
    ("price != 5 and price > 3", "price > 3 and price != 5"),
    ("not not halted", "halted"),
    ("halted == true", "halted"),
    ("true == halted", "halted"),
    ("halted != true", "halted == false"),
    ("a and (b or a)", "a"),
    ("not (a and b)", "not a or not b"),
    ("has a and not has a", "false"),
    ("a is text or a is number or a is bool", "has a"),
    ('name startswith "ab" and name contains "a"', 'name startswith "ab"'),
    ('name >= "ab" and name < "ac"', 'name startswith "ab"'),
    ('name endswith "xy" and not name contains "z"', 'name endswith "xy" and not name contains "z"'),
    ('name contains ""', "name is text"),
    ("name == 'it''s'", None),
    (r"name == 'it\'s'", 'name == "it\'s"'),
    (r'name == "\x41\u0042\U00000043\n\\"', r'name == "ABC\n\\"'),
    ("`odd name` == 1 and `in` == 2", "`in` == 2 and `odd name` == 1"),
    ("größe > 1", "`größe` > 1"),
    ("a.b == -1.50e2", "a.b == -150"),
    ("x == -0.0", "x == 0"),
    ("x not in (1, 'a')", 'has x and not x is bool and not x == 1 and not x == "a"'),
    ("x is null", "not has x"),
    ("x is not null", "has x"),
    ("x between 1 and 2 and y", "1 <= x <= 2 and y"),
    ('x not between "a" and "b"', 'x is text and not "a" <= x <= "b"'),
    ("x not between 1 and 2", "x is number and not 1 <= x <= 2"),
    ('x like "ab%"', 'x startswith "ab"'),
    ('x like "%ab"', 'x endswith "ab"'),
    ('x like "%ab%"', 'x contains "ab"'),
    ('x like "ab"', 'x == "ab"'),
    ('x like "%%"', "x is text"),
    ('x like "a%b"', 'x startswith "a" and x endswith "b"'),
    ('x like "ab%ba"', 'x like "ab%ba"'),
    ('x like "a%_%_b"', 'x like "a__%b"'),
    ('x not like "a%"', 'x is text and not x startswith "a"'),
    ('not x like "a_"', 'not x like "a_"'),
    ('x like "a_%" and x contains "a"', 'x like "a_%"'),
    ('x like "a_%" and x like "b_%"', "false"),
    ('x like "100!%!!" escape "!"', 'x == "100%!"'),
    (r'x like "1\\%_"', r'x like "1\\%_"'),
    ('x ilike "IBM"', 'x ilike "ibm"'),
    ('x ilike "Straße"', 'x ilike "strasse"'),
    ('x ilike "a%" and x ilike "b%"', "false"),
    ('x ilike "a_" and x == "AB"', 'x == "AB"'),
    ('x not ilike "_"', 'x is text and not x ilike "_"'),
    ('at > timestamp "1970-01-01T00:00:01Z"', "at > 1000000"),
    ('timestamp "1970-01-01 01:00:00.5+01:00" <= at < timestamp "1970-01-02T00:00Z"', "500000 <= at < 86400000000"),
    ('at in (timestamp "1970-01-01T00:00Z", 5)', "at in (0, 5)"),
    ('at between timestamp "1970-01-01T00:00Z" and 5', "0 <= at <= 5"),
    ("timestamp and timestamp > 5 and between == 1", "false"),
    ('like like "a_" and null is null and not escape', 'not escape and like like "a_" and not has null'),
    ('between between 1 and 2 and ilike ilike "x" or escape', '1 <= between <= 2 and ilike ilike "x" or escape'),
    ('@topic startswith ".a."', '@topic startswith ".a."'),
    ('`@topic` == ".a"', '@topic == ".a"'),
    ('@publisher == "anna" or @publisher in (5, "anna")', "@publisher in (5, 7503624139547223366)"),
    ('@published >= timestamp "1970-01-01T00:00:00.000001Z" and has @topic', "@published >= 1 and has @topic"),
    ("x in (1, 'a', true,)", 'x in (true, 1, "a")'),
]


@pytest.mark.parametrize(("given", "canonical"), EXAMPLES)
def test_a_filter_has_one_form_and_that_form_means_the_same(given: str, canonical: str | None) -> None:
    if canonical is None:
        with pytest.raises(Misuse):
            parse(given)
    else:
        assert parse(given).text == str(parse(given)) == canonical
        assert parse(canonical) == parse(given)


@pytest.mark.parametrize(
    ("text", "at", "said"),
    [
        ("a = 1", 3, "write == for equal"),
        ("a == ", 5, "expected a number"),
        ("a and b c", 9, "expected a comparison"),
        ("a &&b", 3, "write and"),
        ("(a or b", 8, "expected )"),
        ("a or b)", 7, "expected the end"),
        (
            "a b",
            3,
            "expected a comparison like == or <, and, between, contains, endswith, ilike, in, is, like, not, or, "
            "startswith or the end",
        ),
        ("(a == 1 b", 9, "expected ), and or or"),
        ("true 1", 6, "expected a comparison like == or <, and, or or the end"),
        ("1 < 2", 5, "expected an attribute"),
        ("1", 2, "expected a comparison"),
        ("x not y", 7, "expected between, ilike, in or like"),
        ("x in (1 2)", 9, "expected ) or a comma"),
        ("x in (1,,)", 9, 'expected ), a number, a text in quotes like "IBM", false or true'),
        ("has 5", 5, "expected an attribute"),
        ("not", 4, 'expected (, a number, a text in quotes like "IBM", an attribute, false, has, not or true'),
        ("", 1, "an attribute"),
        ("x < true", 3, "no order"),
        ("1 < x > 3", 7, "a range is written"),
        ("1 == x == 1", 8, "a range is written"),
        ('x == "abc', 6, 'no closing "'),
        (r'x == "a\q"', 8, "for a backslash"),
        (r'x == "\UFFFFFFFF"', 7, "for a backslash"),
        ("x > 1e999", 5, "too large"),
        ("x == 18446744073709551616", 6, "between -2^63 and 2^64 - 1"),
        (f"x == {'9' * 8000}", 6, "between -2^63 and 2^64 - 1"),
        ("x is price", 6, "expected number, text or bool"),
        ("x is not number", 10, "expected null"),
        ("x between 1 or 2", 13, "expected and"),
        ("x between 1 and 'a'", 17, "two numbers, or two texts"),
        ("x between true and false", 3, "no order"),
        ("x like 5", 8, "expected a text"),
        (r"x like 'a\\b'", 8, "comes %, _ or"),
        (r"x like 'a\\'", 8, "comes %, _ or"),
        ("x like 'a' escape 'ab'", 19, "one letter"),
        ("x like 'a' escape '%'", 19, "one letter"),
        (r"x like '\ud800'", 8, "whole letters"),
        ("x > timestamp 5", 15, "expected a text"),
        ("x > timestamp '2026-11-18'", 15, "a timestamp is written like"),
        ("x > timestamp '2026-11-18T20:00:00'", 15, "a timestamp is written like"),
        ("x > timestamp '2026-02-30T20:00:00Z'", 15, "a timestamp is written like"),
        ("timestamp '2026-11-18T20:00:00Z' and x", 34, "expected a comparison"),
        ("@other == 1", 1, "@topic, @publisher, @published"),
        ("@topic == 1", 1, "@topic is a text"),
        ("@topic", 1, "@topic is a text"),
        ("@published == 'a'", 1, "@published is a number"),
        ("@publisher < 'a'", 12, "have no order"),
        ("x in ()", 7, "expected a number"),
        ("x startswith 5", 14, "expected a text"),
        ("a and\n  b == €", 14, "means nothing here"),
        ("(" * 33 + "a" + ")" * 33, 1, "nested more than 32 deep"),
        ("a" * 256 + " > 1", 1, "at most 255"),
    ],
)
def test_an_error_points_at_the_character(text: str, at: int, said: str) -> None:
    with pytest.raises(Misuse) as wrong:
        parse(text)
    sentence, line, caret = str(wrong.value).split("\n")
    assert f"character {at}:" in sentence
    assert said in sentence
    if at <= len(text) and text[at - 1] != "\n":
        assert line[caret.index("^")] == text[at - 1]


def test_a_text_may_be_long_but_not_endless() -> None:
    assert parse(" or ".join(f"x == {number}" for number in range(600))).matches({"x": 599})
    with pytest.raises(Misuse, match="8192"):
        parse("a" * 8193)
    with pytest.raises(Misuse, match="written out"):
        parse('x == "' + "\u200b" * 8000 + '"')


def test_a_text_that_is_all_parentheses_or_all_nots_goes_no_deeper_than_others() -> None:
    for many in ("(" * 8_000, "(" * 4_000 + "a" + ")" * 4_000):
        with pytest.raises(Misuse, match="nested more than 32 deep"):
            parse(many)
    assert parse("not " * 2_000 + "a") == parse("a")
    assert parse("not " * 1_999 + "a") == parse("not a")
    assert parse("(" * 32 + "a" + ")" * 32) == parse("a")


def test_filters_that_were_read_are_remembered_within_bounds() -> None:
    asked: list[str] = []

    @remembered(texts_max=3, characters_max=10)
    def ask(text: str) -> int:
        asked.append(text)
        if not text:
            raise Misuse("nothing")
        return len(text)

    assert [ask(text) for text in ("aa", "bb", "aa", "cc", "dd", "aa", "bb")] == [2] * 7
    assert asked == ["aa", "bb", "cc", "dd", "bb"]  # of four, the one asked for longest ago was forgotten
    assert ask("e" * 10) == ask("e" * 10) == 10
    assert ask("f" * 11) == ask("f" * 11) == 11  # longer than all that may be kept
    assert asked[5:] == ["e" * 10, "f" * 11, "f" * 11]
    for _ in range(2):
        with pytest.raises(Misuse):
            ask("")
    assert asked[-2:] == ["", ""]


def test_equal_filters_have_equal_signatures_in_every_process() -> None:
    assert parse("a > 1 and b").signature == parse("b and a > 1.0").signature == 0x4B8B5CFF5FC925F4
    assert parse("a > 1").signature != parse("a >= 1").signature
    assert {parse("a > 1"), parse("(a > 1)")} == {parse("a > 1")}
    assert parse("true") == EVERYTHING
    assert parse("a") != "a"


def test_a_filter_is_a_value() -> None:
    made = parse("a > 1 and b")
    assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == made
    assert repr(made) == "parse('a > 1 and b')"
    with pytest.raises(AttributeError):
        made.text = "b"  # type: ignore[misc]


@given(trees)
def test_what_is_written_reads_back_as_the_same(tree: Tree) -> None:
    made = parse(text(tree))
    assert parse(made.text) == made
    assert parse(made.text).signature == made.signature


@given(st.text(), st.text(min_size=1))
def test_any_text_and_any_name_can_be_asked_for(value: str, name: str) -> None:
    quoted = "".join(f"\\U{ord(letter):08x}" for letter in value)
    called = "".join(f"\\U{ord(letter):08x}" for letter in name)
    made = parse(f'`{called}` == "{quoted}"')
    assert parse(made.text) == made
    assert made.matches({name: value})
    assert not made.matches({name: value + "x"})


@given(st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False))
def test_any_number_reads_back_as_the_same(value: float) -> None:
    made = parse(f"x == {value!r}")
    assert parse(made.text) == made
    assert made.matches({"x": value})


def refused_or_read(text: str) -> Filter | None:
    """Whatever the text: a filter that reads back as itself, or one clear error."""
    try:
        made = parse.__wrapped__(text)
    except Misuse:
        return None
    assert parse.__wrapped__(made.text) == made
    return made


@given(st.text(max_size=200))
def test_random_text_is_read_or_refused(text: str) -> None:
    refused_or_read(text)


PIECES = [
    *("and", "or", "not", "in", "is", "has", "true", "false", "startswith", "endswith", "contains", "number"),
    *(
        "between",
        "like",
        "ilike",
        "escape",
        "null",
        "timestamp",
        "@topic",
        "@published",
        '"2026-11-18T20:00Z"',
        '"_a%"',
    ),
    *(
        "(",
        ")",
        ",",
        "==",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "=",
        "x",
        "y",
        "`z`",
        "1",
        "-1.5",
        "1e400",
        "9" * 30,
        '"a"',
        "'",
    ),
    *("\\", "\ud800", "\U0010ffff", "é", "\0", " ", "\n"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=40))
def test_random_words_are_read_or_refused(words: list[str]) -> None:
    refused_or_read(" ".join(words))


@given(trees, st.integers(0, 2**32))
def test_a_filter_with_letters_changed_is_read_or_refused(tree: Tree, seed: int) -> None:
    draws = random.Random(seed)
    letters = list(text(tree))
    for _ in range(draws.randint(1, 4)):
        at = draws.randrange(len(letters))
        letters[at : at + draws.randint(0, 2)] = draws.choice([*PIECES, draws.choice(letters or ["x"])])
        letters = letters or ["x"]
    refused_or_read("".join(letters))


ENTANGLED = " and ".join(f"(a{n} or b{n} > 1)" for n in range(30))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("true", ()),
        ("a > 1 and not (b or has c)", ("a", "b", "c")),
        ("a > 1 or a < 0", ("a",)),
        (ENTANGLED, ("a0", "b0")),
    ],
)
def test_a_filter_tells_which_attributes_it_asks_for(text: str, names: tuple[str, ...]) -> None:
    assert {*names} <= {*parse(text).names}
    assert len(parse(text).names) == (len(names) if text != ENTANGLED else 60)
