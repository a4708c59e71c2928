"""The language of filters: text in, a tree out, or an error that points at the character."""

from functools import cache
from typing import NoReturn, cast

from lark import Lark, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from gossamer.core.errors import Misuse
from gossamer.core.filters.meaning import FilterPart, Meaning, Wrong
from gossamer.core.filters.trees import Node
from gossamer.core.patterns import FILTER_MAX

TEXT_MAX = FILTER_MAX
"Characters of a filter, as given and in its canonical form."

GRAMMAR = r"""
?start: either
?either: together ("or" together)*
?together: part ("and" part)*
?part: "not" part -> negated
     | LPAR either ")" -> grouped
     | condition
?condition: NAME -> flag
          | "has" NAME -> has
          | TRUE -> always
          | FALSE -> never
          | NAME COMPARE value -> compared
          | value COMPARE NAME -> compared_backwards
          | value COMPARE NAME COMPARE value -> between
          | NAME "in" list -> member
          | NAME "not" "in" list -> outsider
          | NAME STARTSWITH STRING -> starts
          | NAME (ENDSWITH | CONTAINS) STRING -> fits
          | NAME "is" NAME -> kind
list: "(" value ("," value)* ","? ")"
value: NUMBER | STRING | TRUE | FALSE

TRUE: "true"
FALSE: "false"
STARTSWITH: "startswith"
ENDSWITH: "endswith"
CONTAINS: "contains"
COMPARE: "==" | "!=" | "<=" | ">=" | "<" | ">"
LPAR: "("
NUMBER: /[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?/
STRING: /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/s
NAME: /[^\W\d][\w.]*|`(?:[^`\\]|\\.)+`/s
%ignore /[ \t\r\n\f]+/
"""

WORDS = {
    "NAME": "an attribute",
    "NUMBER": "a number",
    "STRING": 'a text in quotes like "IBM"',
    "COMPARE": "a comparison like == or <",
    "$END": "the end",
    "LPAR": "(",
    "RPAR": ")",
    "COMMA": "a comma",
}
SPELLING = {
    "=": "write == for equal",
    "&": "write and",
    "|": "write or",
    "!": "write not, or != for unequal",
    '"': 'the text has no closing "',
    "'": "the text has no closing '",
    "`": "the name has no closing `",
}


def read(text: str) -> Node:
    """The tree a text describes, as written."""
    if len(text) > TEXT_MAX:
        raise Misuse(f"the filter is {len(text)} characters long, more than {TEXT_MAX}: say less, or filter in parts")
    try:
        return cast(FilterPart, _parser().parse(text)).node
    except Wrong as wrong:
        complain(text, wrong.at, wrong.why)
    except UnexpectedCharacters as strange:
        complain(text, strange.pos_in_stream or 0, _strange(strange))
    except UnexpectedToken as token:
        at = len(text.rstrip()) if token.token.type == "$END" else token.pos_in_stream or 0
        complain(text, at, f"expected {_expected(token)}")
    except UnexpectedInput as unexpected:
        complain(text, unexpected.pos_in_stream or 0, "this cannot stand here")


def complain(text: str, at: int, why: str) -> NoReturn:
    """One sentence, then the line it is about and a caret below the character."""
    start = text.rfind("\n", 0, at) + 1
    line = text[start:].split("\n", 1)[0]
    first = max(0, at - start - 60)
    shown = "".join(letter if letter.isprintable() else " " for letter in line[first : first + 100])
    raise Misuse(f"filter, character {at + 1}: {why}\n  {shown}\n  {' ' * (at - start - first)}^")


def _strange(found: UnexpectedCharacters) -> str:
    return SPELLING.get(found.char) or f"{found.char!r} means nothing here"


def _expected(found: UnexpectedToken) -> str:
    words = sorted(WORDS.get(name, name.lower()) for name in found.accepts or found.expected)
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


@cache
def _parser() -> Lark:
    """Made on first use: who filters nothing does not wait for it. The basic lexer keeps words like `in` apart."""
    return Lark(GRAMMAR, parser="lalr", lexer="basic", transformer=Meaning(), maybe_placeholders=False)
