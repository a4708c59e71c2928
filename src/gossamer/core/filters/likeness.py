"""What `like` means: what can be said without a pattern is, and so is what follows from one."""

from collections.abc import Sequence

from gossamer.core.filters import spans, wildcards
from gossamer.core.filters.constants import unquoted
from gossamer.core.filters.spans import ALL
from gossamer.core.filters.text_parts import CONTAINS, ENDSWITH, ILIKE, LIKE
from gossamer.core.filters.tokens import Token, Wrong
from gossamer.core.filters.values import Values
from gossamer.core.filters.wildcards import MANY, MARKS, BadPattern, Wild

TEXT = Values(texts=ALL)


def likeness(how: str, pattern: Token, escape: Token | None) -> Sequence[Values]:
    """Sets of values; a text is like the pattern if it is in all of them."""
    sign = wildcards.ESCAPE if escape is None else unquoted(escape)
    if escape is not None and (len(sign) != 1 or sign in "%_"):
        raise Wrong(escape, "the escape is one letter, and neither % nor _")
    try:
        form = wildcards.wild(unquoted(pattern), sign)
    except BadPattern as wrong:
        raise Wrong(pattern, str(wrong)) from None
    if form in ("", MANY):
        return [Values(texts=spans.point("")) if form == "" else TEXT]
    if how == LIKE:
        return _said(form)
    form = wildcards.tidy(form.casefold())
    return [Values(texts=ALL, musts=((ILIKE, form),))]


def _said(form: Wild) -> Sequence[Values]:
    if not MARKS.search(form):
        return [Values(texts=spans.point(form))]
    start, end = wildcards.start_of(form), wildcards.end_of(form)
    inner = form.strip(MANY)
    if not MARKS.search(inner):
        if form == inner + MANY:
            return [Values(texts=spans.starting(inner))]
        return [Values(texts=ALL, musts=((ENDSWITH if form == MANY + inner else CONTAINS, inner),))]
    if form == start + MANY + end and not wildcards.overlaps(start, end):
        return [Values(texts=spans.starting(start)), Values(texts=ALL, musts=((ENDSWITH, end),))]
    return [Values(texts=spans.starting(start), musts=((LIKE, form),))]
