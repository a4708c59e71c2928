"""What is told of bytes that cannot be read."""

import re

PATTERN = re.compile(r" matching regex '.*'", re.DOTALL)


def wording(wrong: Exception) -> str:
    """In a sentence: the patterns of names are long, and say nothing to people."""
    return PATTERN.sub(" of another form", str(wrong))
