"""The key that audits: it opens what nodes seal in their traces, and nothing else does."""

import pickle
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from msgspec.structs import replace

from gossamer.core.errors import Misuse
from gossamer.core.ids import EventId
from gossamer.core.trace import Head, Row
from gossamer.live.keys.auditing import AuditKey, FileSealer, keys_of_files, read_public
from gossamer.live.keys.network import Network
from gossamer.live.watching.scribe import at_once
from gossamer.live.watching.traces import SegmentWriter
from gossamer.wire import values
from gossamer.wire.segment import SegmentReader
from gossamer.wire.values import KeptValues, read_kept

EVENT = EventId(3, 7, 12)
ODD = {"price": float("nan"), "most": 2**63 - 1, "least": -(2**63), "long": "ü" * 8192, "flag": True, "": ""}


def written(folder: Path, key: AuditKey, count: int = 3, **limits: int) -> list[tuple[Head, list[Row]]]:
    """What a node that seals leaves behind."""
    head = Head("net", 1, name="n", values="sealed")
    writer = SegmentWriter(
        folder, head, now_us=lambda: 0, do=at_once, sealer=lambda: FileSealer(key.public), **limits
    )  # fmt: skip
    for number in range(count):
        writer.row("publish", number, None, ".x", 3, 7, number, attributes={"symbol": "IBM"})
        writer.tick()
    writer.close()
    found = []
    for path in sorted(folder.iterdir()):
        reader = SegmentReader(path)
        rows = [row for record in reader for row in record]
        found.append((reader.head, rows))
    return found


def opened(head: Head, row: Row, *keys: AuditKey, event: EventId | None = None) -> dict[str, object] | None:
    kept = read_kept(values.kept(head, row) or b"")
    about = event or EventId(row.publisher or 0, row.incarnation or 0, row.sequence or 0)
    data = keys_of_files(keys, [head]).open(kept, about)
    return None if data is None else values.decoded(data)


def test_the_key_that_audits_opens_every_row_and_nobody_else_does(tmp_path: Path) -> None:
    key, other = AuditKey.new(), AuditKey.new()
    ((head, rows),) = written(tmp_path, key)
    assert [opened(head, row, key) for row in rows] == [{"symbol": "IBM"}] * 3
    assert [opened(head, row, other, key) for row in rows] == [{"symbol": "IBM"}] * 3
    assert [opened(head, row, other) for row in rows] == [None] * 3
    assert [opened(head, row) for row in rows] == [None] * 3
    kept = read_kept(values.kept(head, rows[0]) or b"")
    assert not keys_of_files([other], [head]).fits(kept)
    assert keys_of_files([key], [head]).fits(kept)


def test_sealed_rows_tell_nothing_but_how_long_they_are_about(tmp_path: Path) -> None:
    ((_, rows),) = written(tmp_path, AuditKey.new())
    assert len({row.attributes for row in rows}) == 3  # the same, three times
    assert all(b"IBM" not in row.attributes for row in rows if row.attributes)
    short, long = values.encoded({"symbol": "IBM"}), values.encoded({"symbol": "GOOGLE"})
    assert short is not None
    assert long is not None
    assert len(short) == len(long) == values.STEP


def test_each_file_is_sealed_by_a_pair_of_its_own(tmp_path: Path) -> None:
    key = AuditKey.new()
    files = written(tmp_path, key, 6, segment_bytes=100)
    assert len(files) >= 3
    assert len({head.sealed_by for head, _ in files}) == len(files)
    assert {head.sealed_to for head, _ in files} == {key.short}
    for head, rows in files:
        for row in rows:
            assert opened(head, row, key) == {"symbol": "IBM"}


def test_keys_are_shown_nowhere(tmp_path: Path) -> None:
    key = AuditKey.new()
    ((head, _),) = written(tmp_path, key)
    keys = keys_of_files([key], [head])
    (secret,) = keys.keys.values()
    shown = f"{keys!r} {keys} {key!r} {vars(key)}"
    assert repr(secret)[2:12] not in shown
    assert secret.hex() not in shown
    assert pickle.loads(pickle.dumps(keys)) == keys


def test_a_row_that_was_changed_or_moved_does_not_open(tmp_path: Path) -> None:
    key = AuditKey.new()
    ((head, rows),) = written(tmp_path, key)
    first, second, _ = rows
    assert first.attributes is not None
    for at in range(0, len(first.attributes), 7):
        broken = bytearray(first.attributes)
        broken[at] ^= 1
        assert opened(head, replace(first, attributes=bytes(broken)), key) is None
    assert opened(head, replace(first, attributes=second.attributes), key) is None
    assert opened(head, replace(first, seq=second.seq), key) is None
    assert opened(head, first, key, event=EventId(3, 7, 99)) is None
    assert opened(replace(head, sealed_by=bytes(32)), first, key) is None
    assert opened(replace(head, sealed_by=b"short"), first, key) is None
    assert opened(head, replace(first, seq=-1), key) is None
    assert opened(head, replace(first, attributes=b""), key) is None


def test_attributes_at_every_limit_come_back_as_they_were() -> None:
    data = values.encoded(ODD)
    assert data is not None
    back = values.decoded(data)
    assert back is not None
    assert repr(back) == repr(ODD)
    assert values.encoded({"half": "\ud800"}) is None
    assert values.encoded({"wide": 2**64}) is None
    for odd in (b"", b"\xff" * 32, b"\x05\0\0\0\x81\xa1a\xc0", b"\xff\xff\xff\xff\x80"):
        assert values.decoded(odd) in (None, {})


def test_what_is_kept_of_a_row_says_how_to_open_it() -> None:
    row = Row(4, 5, "publish", attributes=b"abc")
    assert values.kept(Head("net", 1), row) is None
    assert values.kept(Head("net", 1, values="plain"), Row(4, 5, "publish")) is None
    assert read_kept(values.kept(Head("net", 1, values="plain"), row) or b"") == KeptValues("plain", b"abc", 4)


def test_a_network_has_one_such_key_and_its_nodes_the_public_half(tmp_path: Path) -> None:
    network = Network.init(tmp_path / "net")
    network.grant("early", [".x"])
    made = network.make_audit_key()
    network.grant("late", [".x"])
    for name in ("early", "late"):
        assert read_public(network.folder_of(name) / "audit.pub") == made.public
        assert not (network.folder_of(name) / "audit.key").exists()
    assert AuditKey.read(tmp_path / "net" / "audit.key").public == made.public
    assert (tmp_path / "net" / "audit.key").stat().st_mode & 0o077 == 0
    with pytest.raises(Misuse, match=r"audit\.key is there already: add --new-key"):
        network.make_audit_key()
    again = network.make_audit_key(new_key=True, passphrase=b"word")
    assert read_public(network.folder_of("early") / "audit.pub") == again.public != made.public
    assert AuditKey.read(tmp_path / "net" / f"audit-before-{made.short.hex()}.key").public == made.public
    assert AuditKey.read(tmp_path / "net" / "audit.key", b"word").public == again.public


def test_a_file_that_is_no_such_key_is_named_in_a_sentence(tmp_path: Path) -> None:
    network = Network.init(tmp_path / "net")
    network.make_audit_key(passphrase=b"word")
    key = tmp_path / "net" / "audit.key"
    with pytest.raises(Misuse, match="is encrypted: add --passphrase-file"):
        AuditKey.read(key)
    with pytest.raises(Misuse, match="the passphrase does not open it"):
        AuditKey.read(key, b"another")
    with pytest.raises(Misuse, match=r"name the audit\.key that `gossamer keys audit` made"):
        AuditKey.read(tmp_path / "net" / "authority.key")
    with pytest.raises(Misuse, match="not the public half"):
        read_public(key)
    weak = X25519PublicKey.from_public_bytes(bytes(32)).public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "weak.pub").write_bytes(weak)
    with pytest.raises(Misuse, match="not the public half"):
        read_public(tmp_path / "weak.pub")
    (tmp_path / "open").write_bytes(b"x")
    (tmp_path / "open").chmod(0o644)
    with pytest.raises(Misuse, match="can be read by others"):
        AuditKey.read(tmp_path / "open")
