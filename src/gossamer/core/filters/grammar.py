"""The language of filters, read from the left: each method takes one rule's tokens and gives the tree it describes.

Only parentheses make it call itself, and those are counted: no text, however long, goes deep.
"""

from typing import NoReturn

from gossamer.core.errors import Misuse
from gossamer.core.filters import constants, meaning
from gossamer.core.filters.constants import Constant
from gossamer.core.filters.tokens import (
    COMPARE,
    END,
    NAME,
    NUMBER,
    STRING,
    Token,
    Wrong,
    complain,
    tokens,
    unexpected,
)
from gossamer.core.filters.trees import FALSE, TRUE, All, Any, Node, negation
from gossamer.core.patterns import FILTER_MAX

TEXT_MAX = FILTER_MAX
"Characters of a filter, as given and in its canonical form."
DEPTH_MAX = 32
"Parentheses inside parentheses."

VALUES = (NUMBER, STRING, "true", "false")
STARTS = (NAME, *VALUES, "has", "not", "(")
"What a condition, or what joins several, may begin with."
TRUTHS: dict[str, Node] = {"true": TRUE, "false": FALSE}
FITS = ("endswith", "contains")
TIMESTAMP = "timestamp"
WAYS = ("between", "like", "ilike")
"""Words that only mean something where an attribute could not stand: attributes may be called so. `escape`, `null` and
`timestamp` are others."""
RELATIONS = (COMPARE, "in", "not", "is", "startswith", *FITS)


def read(text: str) -> Node:
    """The tree a text describes, as written; Misuse points at what is wrong with it."""
    if len(text) > TEXT_MAX:
        raise Misuse(f"the filter is {len(text)} characters long, more than {TEXT_MAX}: say less, or filter in parts")
    try:
        return FilterReading(text).whole()
    except Wrong as wrong:
        complain(text, wrong.at, wrong.why)


class FilterReading:
    """One text on its way to a tree."""

    def __init__(self, text: str) -> None:
        self._tokens = iter(tokens(text))
        self.token = next(self._tokens)
        "The next one: it was looked at, and not taken yet."
        self.open: list[Token] = []
        "Parentheses that wait to be closed."

    def take(self) -> Token:
        taken, self.token = self.token, next(self._tokens, self.token)
        return taken

    def taken(self, *kinds: str) -> Token:
        """The next token, which must be one of these."""
        if self.token.kind not in kinds:
            unexpected(self.token, *kinds)
        return self.take()

    def refuse(self, *also: str) -> NoReturn:
        """A condition could have ended here, or gone on with one of these. Of a parenthesis too many, nothing else is
        told."""
        closed = ")" if self.open else END
        unexpected(self.token, *((closed,) if self.token.kind in (END, ")") else ("and", "or", closed, *also)))

    def whole(self) -> Node:
        node = self.either()
        if self.token.kind != END:
            self.refuse()
        return node

    def either(self) -> Node:
        parts = [self.together()]
        while self.token.kind == "or":
            self.take()
            parts.append(self.together())
        return Any(tuple(parts)) if parts[1:] else parts[0]

    def together(self) -> Node:
        parts = [self.part()]
        while self.token.kind == "and":
            self.take()
            parts.append(self.part())
        return All(tuple(parts)) if parts[1:] else parts[0]

    def part(self) -> Node:
        nots = 0
        while self.token.kind == "not":
            self.take()
            nots += 1
        node = self.grouped() if self.token.kind == "(" else self.condition()
        return negation(node) if nots % 2 else node

    def grouped(self) -> Node:
        self.open.append(self.take())
        if len(self.open) > DEPTH_MAX:
            raise Wrong(self.open[0], f"parentheses are nested more than {DEPTH_MAX} deep: say it flatter")
        node = self.either()
        if self.token.kind != ")":
            self.refuse()
        self.take()
        self.open.pop()
        return node

    # -- conditions -------------------------------------------------------------------------------------------------

    def condition(self) -> Node:
        kind = self.token.kind
        if kind == NAME:
            name = self.take()
            return self.timed(name) if name.said == TIMESTAMP and self.token.kind == STRING else self.about(name)
        if kind == "has":
            self.take()
            return meaning.has(self.taken(NAME))
        if kind not in VALUES:
            unexpected(self.token, *STARTS)
        first = self.take()
        if self.token.kind == COMPARE:
            return self.backwards(constants.constant(first))
        if kind not in TRUTHS:
            unexpected(self.token, COMPARE)
        self.ends(COMPARE)
        return TRUTHS[kind]

    def ends(self, *also: str) -> None:
        """A condition may end here; if it does not, something else is missing."""
        if self.token.kind not in ("and", "or", ")", END) or (self.token.kind == ")" and not self.open):
            self.refuse(*also)

    def about(self, name: Token) -> Node:
        """What is said of an attribute that was named first."""
        kind = self.token.kind
        if kind == COMPARE:
            how = self.take()
            return meaning.compared(name, how, self.value())
        if kind == "in":
            self.take()
            return meaning.member(name, self.list())
        if kind == "not":
            self.take()
            return self.outside(name)
        if kind == NAME and self.token.said in WAYS:
            return self.soft(name)
        if kind == "startswith":
            self.take()
            return meaning.starts(name, self.taken(STRING))
        if kind in FITS:
            how = self.take()
            return meaning.fits(name, how, self.taken(STRING))
        if kind == "is":
            self.take()
            return self.being(name)
        self.ends(*RELATIONS, *WAYS)
        return meaning.flag(name)

    def outside(self, name: Token) -> Node:
        """After `not`: of the same type, and none of these."""
        if self.token.kind == NAME and self.token.said in WAYS:
            return self.soft(name, positive=False)
        if self.token.kind != "in":
            unexpected(self.token, "in", *WAYS)
        self.take()
        return meaning.outsider(name, self.list())

    def soft(self, name: Token, positive: bool = True) -> Node:
        """Words that are names elsewhere: between, like, ilike."""
        how = self.take()
        if how.said == "between":
            low = self.value()
            self.taken("and")
            return meaning.between_both(name, how, low, self.value(), positive)
        pattern, escape = self.taken(STRING), None
        if self.token.kind == NAME and self.token.said == "escape":
            self.take()
            escape = self.taken(STRING)
        return meaning.like(name, how, pattern, escape, positive)

    def being(self, name: Token) -> Node:
        """After `is`: null, not null, or a type."""
        there = self.token.kind == "not"
        if there:
            self.take()
        what = self.taken(NAME)
        if what.said == "null":
            return meaning.has(name) if there else negation(meaning.has(name))
        if there:
            raise Wrong(what, "expected null")
        return meaning.kind(name, what)

    def timed(self, word: Token) -> Node:
        """A time first, then the attribute."""
        first = constants.time(word, self.take())
        if self.token.kind != COMPARE:
            unexpected(self.token, COMPARE)
        return self.backwards(first)

    def backwards(self, first: Constant) -> Node:
        """A value first, then the attribute, and perhaps another value."""
        how, name = self.take(), self.taken(NAME)
        if self.token.kind != COMPARE:
            self.ends(COMPARE)
            return meaning.compared_backwards(first, how, name)
        other = self.take()
        return meaning.between(first, how, name, other, self.value())

    def value(self) -> Constant:
        if self.token.kind == NAME and self.token.said == TIMESTAMP:
            word = self.take()
            return constants.time(word, self.taken(STRING))
        return constants.constant(self.taken(*VALUES))

    def list(self) -> list[Constant]:
        self.taken("(")
        listed = [self.value()]
        while self.taken(",", ")").kind == ",":
            if self.token.kind == ")":
                self.take()
                break
            if self.token.kind not in VALUES and self.token.said != TIMESTAMP:
                unexpected(self.token, *VALUES, ")")
            listed.append(self.value())
        return listed
