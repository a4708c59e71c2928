"""Copies that go to the same peers in one turn of the loop: they are put into one frame, once for all of them.

Events of a pack come together or one by one, as the machine decides on them. If all of them are here in the end, the
pack goes as the bytes it came in; otherwise each goes alone.
"""

from collections.abc import Sequence

from gossamer.core.ids import EventId, Peer
from gossamer.live.arriving.bodies import bin_header
from gossamer.wire.frame import Copy, PackCopy, batch_frame, packed
from gossamer.wire.pack import Pack


class Run:
    """Events of one pack, one after the other."""

    __slots__ = ("hops", "ids", "pack", "route", "said", "tag")

    def __init__(self, pack: Pack, hops: int, tag: str, route: tuple[Peer, ...], said: bytes) -> None:
        self.pack, self.hops, self.tag, self.route, self.said = pack, hops, tag, route, said
        self.ids: dict[EventId, None] = {}


class Bundle:
    """Filled, closed, then sent to every target."""

    __slots__ = ("_frames", "_run", "bodies", "copies", "count", "packs", "publisher", "size", "targets")

    def __init__(self, targets: tuple[Peer, ...], publisher: Peer) -> None:
        self.targets, self.publisher = targets, publisher
        self.copies: list[bytes] = []
        self.bodies: list[bytes] = []
        self.packs: list[bytes] = []
        self.count = 0
        "Events, alone and in packs."
        self.size = 0
        self._run: Run | None = None
        self._frames: dict[int, bytes] = {}

    def add(self, copy: bytes, body: bytes) -> None:
        self.copies.append(copy)
        self.bodies.append(body)
        self.count += 1
        self.size += len(copy) + len(body)

    def add_from(
        self, pack: Pack, ids: Sequence[EventId], hops: int, tag: str, route: tuple[Peer, ...], said: bytes = b""
    ) -> None:
        run = self._run
        same = run is not None and run.pack is pack and (run.hops, run.tag, run.route) == (hops, tag, route)
        if run is None or not same or run.said != said:
            self.close()
            run = self._run = Run(pack, hops, tag, route, said)
        run.ids.update(dict.fromkeys(ids))

    def close(self) -> None:
        """Nothing more comes of the pack under way."""
        run, self._run = self._run, None
        if run is None:
            return
        pack = run.pack
        if len(run.ids) == len(pack.ids) and not run.said:  # what is said is said of each event
            made = packed(PackCopy(pack.mark, run.hops, run.tag, memoryview(pack.content), run.route))
            self.packs.append(made)
            self.count += len(pack.ids)
            self.size += len(made)
            return
        for event_id in run.ids:
            if (alone := pack.alone(event_id)) is not None:
                leaf, sealed = alone
                copy = Copy(event_id, leaf, run.hops, run.tag, run.route, run.said)
                self.add(packed(copy), bin_header(len(sealed)) + sealed)

    def frame(self, version: int) -> bytes:
        made = self._frames.get(version)
        if made is None:
            made = self._frames[version] = batch_frame([], self.copies, self.bodies, [], version, self.packs)
        return made
