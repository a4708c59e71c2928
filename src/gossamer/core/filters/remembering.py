"""Answers about texts, kept for when the same text comes again: as many as a number of characters allows."""

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

Answer = TypeVar("Answer")


def remembered(texts_max: int, characters_max: int) -> Callable[[Callable[[str], Answer]], Callable[[str], Answer]]:
    """What was asked for longest ago is forgotten first. An error is not an answer."""

    def remembering(ask: Callable[[str], Answer]) -> Callable[[str], Answer]:
        known: dict[str, Answer] = {}
        characters = 0

        @wraps(ask)
        def answer(text: str) -> Answer:
            nonlocal characters
            found = known.pop(text, None)
            if found is None:
                found = ask(text)
                characters += len(text)
            known[text] = found
            while len(known) > texts_max or characters > characters_max:
                oldest = next(iter(known))
                characters -= len(oldest)
                del known[oldest]
            return found

        return answer

    return remembering
