"""Which grant of each peer is the newest, over restarts: whoever repeats an older one later widens nothing.

A number by peer is all that is kept, and only what the authority signed moves it.
"""

import logging
from pathlib import Path

import msgspec

from gossamer.core.errors import Misuse
from gossamer.core.ids import Peer
from gossamer.live.keys import files
from gossamer.live.keys.kept import KeptFile

log = logging.getLogger("gossamer.keys")

FILE = "newest"
SERIALS_MAX = 50_000
"Peers; whoever got its last grant longest ago is forgotten first."
BYTES_MAX = SERIALS_MAX * 20
PAUSE_S = 0.5
"Many are met at once when a node joins: they are written together."

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(dict[int, int])


class Serials:
    """The highest serial met of each peer's grants."""

    def __init__(self, folder: Path) -> None:
        self._file = KeptFile(folder / FILE, "which grants are the newest", PAUSE_S)
        self._serials = read_serials(folder / FILE)
        self.settled = self._file.settled

    def __len__(self) -> int:
        return len(self._serials)

    def of(self, peer: Peer) -> int:
        return self._serials.get(peer, 0)

    def met(self, peer: Peer, serial: int) -> None:
        """A genuine grant was seen."""
        if serial <= self.of(peer):
            return
        self._serials.pop(peer, None)
        self._serials[peer] = serial
        if len(self._serials) > SERIALS_MAX:
            del self._serials[next(iter(self._serials))]
        self._file.keep(self._content)

    def _content(self) -> bytes:
        """With what another process with the same keys, a client perhaps, has kept there meanwhile."""
        ours = self._serials.copy()
        for peer, serial in read_serials(self._file.path).items():
            if serial > ours.get(peer, -1) and (peer in ours or len(ours) < SERIALS_MAX):
                ours[peer] = serial
        return _encoder.encode(ours)


def read_serials(path: Path) -> dict[Peer, int]:
    """None where there is no such file, nor where it is damaged: that is said, and keeps no node from starting."""
    if not path.exists():
        return {}
    try:
        return _decoder.decode(files.read(path, BYTES_MAX))
    except (Misuse, msgspec.DecodeError, UnicodeDecodeError) as wrong:
        log.warning("%s is damaged, so older grants may count until the newest are met again: %s", path, wrong)
        return {}
