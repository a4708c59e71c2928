"""How many are we? Counting a community by gossip of extrema, in epochs.

In every epoch each member draws one mark, uniform over 32 bits, and everybody passes on the smallest `KEPT` marks
met so far (equal marks are one mark, so hearing something twice changes nothing). The k-th smallest of N uniform
marks lies near k / N: that is the estimate, with a relative error of about 1 / sqrt(KEPT - 2). As long as fewer than
KEPT marks are about, all of them are known and the count is exact.

Extrema only ever accumulate, so those who left would be counted for ever: epochs make the count forget. The number
of the epoch travels with the marks, the highest wins, and whoever enters one starts afresh with its own new mark.
A mark depends on who and which epoch only, so a member that comes back in the same epoch is not counted twice.
"""

import struct
from collections.abc import Callable

KEPT = 128
"Marks passed on, 4 bytes each. 64 would leave 5 % of all epochs more than a quarter off, 128 leave 1 in 200."
SPAN = 1 << 32
EPOCH_MAX = 1 << 62


def is_other_size(size: int, before: int) -> bool:
    """Whether a community is not what it was: estimates of large ones always differ a little."""
    return 8 * abs(size - before) > before


class Census:
    """One member's part in the count. `mark` draws its mark of an epoch, a number below 2**32."""

    def __init__(self, mark: Callable[[int], int]) -> None:
        self.mark = mark
        self.epoch = 0
        self.last: int | None = None
        "What the last finished epoch found; None before there was one."
        self.marks = [mark(0)]
        self._packed: bytes | None = None

    def advance(self) -> None:
        """Closes the epoch and opens the next."""
        self._enter(self.epoch + 1, self.running())

    def _enter(self, epoch: int, last: int | None) -> None:
        self.epoch, self.last = epoch, last
        self.marks, self._packed = [self.mark(epoch)], None

    def hear(self, epoch: int, packed: bytes, last: int | None) -> bool:
        """Merges what another member knows. False: it is not a list of marks, nothing was taken."""
        if not 0 <= epoch < EPOCH_MAX or len(packed) % 4 or not 4 <= len(packed) <= 4 * KEPT:
            return False
        if epoch > self.epoch:
            # Only the next epoch's `last` is about marks this node may have missed some of; from further ahead comes
            # somebody who counted a community this node was not part of until now.
            known = self.running() if epoch == self.epoch + 1 else 1
            self._enter(epoch, max(known, last or 1))
        elif epoch == self.epoch:
            if last is not None and (self.last is None or last > self.last):
                self.last = last  # the same finished epoch: who met more marks counted more
            if packed != self.packed():
                heard = struct.unpack(f"<{len(packed) // 4}I", packed)
                self.marks, self._packed = sorted(dict.fromkeys([*self.marks, *heard]))[:KEPT], None
        return True

    def packed(self) -> bytes:
        """The marks as they travel."""
        if self._packed is None:
            self._packed = struct.pack(f"<{len(self.marks)}I", *self.marks)
        return self._packed

    def running(self) -> int:
        """What the epoch under way has found so far."""
        if len(self.marks) < KEPT:
            return len(self.marks)
        return round((KEPT - 1) * SPAN / (self.marks[-1] + 1))

    def estimate(self) -> int:
        """How many members there are: the last finished epoch's answer, the running one's while there is none.

        Where the running epoch knows every mark it is a certain lower bound, so growth shows at once."""
        running = self.running()
        if self.last is None or (running > self.last and len(self.marks) < KEPT):
            return running
        return self.last
