"""What can be tuned in flooding."""

from msgspec import Struct

from gossamer.core.errors import Misuse


class Params(Struct, frozen=True, kw_only=True):
    neighbours: int = 8
    "Members each process knows and tells. Below about ln N some are missed; each one more costs N messages."

    def __post_init__(self) -> None:
        if self.neighbours < 1:
            raise Misuse(f"neighbours must be at least 1, not {self.neighbours}: nothing would ever be told")
