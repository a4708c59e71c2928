"""The words of a filter: text in, tokens out, and an error that points at the character."""

import re
from typing import NamedTuple, NoReturn

from gossamer.core.errors import Misuse

WORDS = ("and", "or", "not", "in", "is", "has", "true", "false", "startswith", "endswith", "contains")
"Words of the language: an attribute of such a name goes between backticks."
NAME, NUMBER, STRING, COMPARE, STRANGE, END = "NAME", "NUMBER", "STRING", "COMPARE", "STRANGE", "END"

TOKEN = re.compile(
    r"""[ \t\r\n\f]*(?:
    (?P<NAME>@?[^\W\d][\w.]*|`(?:[^`\\]|\\.)+`)
    |(?P<COMPARE>==|!=|<=|>=|<|>)
    |(?P<NUMBER>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    |(?P<MARK>[(),])
    |(?P<STRING>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<STRANGE>[^ \t\r\n\f])
    )""",
    re.VERBOSE | re.DOTALL,
)
SPELLING = {
    "=": "write == for equal",
    "&": "write and",
    "|": "write or",
    "!": "write not, or != for unequal",
    '"': 'the text has no closing "',
    "'": "the text has no closing '",
    "`": "the name has no closing `",
}
SHOWN = {
    NAME: "an attribute",
    NUMBER: "a number",
    STRING: 'a text in quotes like "IBM"',
    COMPARE: "a comparison like == or <",
    END: "the end",
    ",": "a comma",
}


class Token(NamedTuple):
    kind: str
    "One of those above, or the word or mark itself."
    said: str
    at: int


class Wrong(Exception):
    """Something that is no filter, and where."""

    def __init__(self, token: Token, why: str, further: int = 0) -> None:
        super().__init__(why)
        self.at, self.why = token.at + further, why


def tokens(text: str) -> list[Token]:
    """All of them. What means nothing is a token too: it may be that something before it is wrong already."""
    found = []
    for match in TOKEN.finditer(text):
        kind = match.lastgroup or END
        said = match[kind]
        if kind == "MARK" or (kind == NAME and said in WORDS):
            kind = said
        found.append(Token(kind, said, match.end() - len(said)))
    found.append(Token(END, "", len(text.rstrip())))
    return found


def unexpected(token: Token, *wanted: str) -> NoReturn:
    """Says what could stand there instead."""
    if token.kind == STRANGE:
        raise Wrong(token, SPELLING.get(token.said) or f"{token.said!r} means nothing here")
    words = sorted(SHOWN.get(each, each) for each in wanted)
    raise Wrong(token, f"expected {', '.join(words[:-1])} or {words[-1]}" if words[1:] else f"expected {words[0]}")


def complain(text: str, at: int, why: str) -> NoReturn:
    """One sentence, then the line it is about and a caret below the character."""
    start = text.rfind("\n", 0, at) + 1
    line = text[start:].split("\n", 1)[0]
    first = max(0, at - start - 60)
    shown = "".join(letter if letter.isprintable() else " " for letter in line[first : first + 100])
    raise Misuse(f"filter, character {at + 1}: {why}\n  {shown}\n  {' ' * (at - start - first)}^")
