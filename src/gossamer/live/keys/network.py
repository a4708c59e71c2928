"""The network's folder, which is the authority's and no node's: grants, revocations and changes of keys start here."""

import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.live.keys import auditing, authority, files, folder, wishes
from gossamer.live.keys.auditing import AuditKey
from gossamer.live.keys.authority import Authority
from gossamer.live.keys.certificates import node_certificate
from gossamer.live.keys.folder import read_revocations
from gossamer.live.keys.grants import SKEW_S, Grant, seal_grant
from gossamer.live.keys.ledger import Issued, Ledger
from gossamer.live.keys.revoked import KEYS_MAX, Revocations, Revoked, seal_revocations
from gossamer.live.keys.signing import Signer, short
from gossamer.protocols.hpmcast.addresses import Address, written

ABOUT, LEDGER, NODES = "network.json", "issued.jsonl", "nodes"

State: TypeAlias = Literal["good", "revoked", "expired", "not yet"]


class About(Struct, frozen=True):
    """What `network.json` says."""

    id: str
    "The network's name and a few random letters: two networks by one name are not one."


class Network:
    """One at a time changes it; every change is on disk when a method returns. `now_s` is there for tests."""

    def __init__(self, path: Path | str, passphrase: bytes | None = None) -> None:
        self.folder = Path(path)
        if not (self.folder / ABOUT).exists():
            raise Misuse(f"{self.folder} is not a network: make one with gossamer keys init {self.folder}")
        try:
            self.id = msgspec.json.decode(files.read(self.folder / ABOUT), type=About).id
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise Misuse(f"{self.folder / ABOUT} is damaged: restore it from a copy") from None
        self.authority = Authority(self.folder, self.id, passphrase)

    @classmethod
    def init(
        cls, path: Path | str, name: str | None = None, passphrase: bytes | None = None, now_s: float | None = None
    ) -> "Network":
        """Makes a new network; one that is there is left alone."""
        at, now_s = Path(path), _now(now_s)
        checked = wishes.named(name or at.resolve().name, wishes.NETWORK_MAX, "network", "--name")
        files.make_folder(at)
        with files.alone(at):
            if taken := [each for each in (ABOUT, authority.KEY, authority.BUNDLE, LEDGER) if (at / each).exists()]:
                raise Misuse(f"{at} holds a network already ({taken[0]}): name another folder")
            about = About(f"{checked}-{secrets.token_hex(4)}")
            keys = Authority(at, about.id, passphrase)
            keys.start(now_s)
            files.write(at / folder.SECRET, secrets.token_bytes(folder.SECRET_BYTES), private=True)
            nobody = Revocations(about.id, 0, int(now_s), ())
            files.write(at / folder.REVOKED, seal_revocations(nobody, keys.signer))
            files.make_folder(at / NODES)
            files.write(at / ABOUT, msgspec.json.encode(about) + b"\n")  # last: with it, the network is there
        return cls(at, passphrase)

    def folder_of(self, node: str) -> Path:
        return self.folder / NODES / node

    def revocations(self) -> Revocations:
        return read_revocations(self.folder / folder.REVOKED, self.authority.trusted())

    def nodes(self, now_s: float | None = None) -> list[tuple[Issued, State]]:
        """Every node's newest grant, by name, and what it is worth."""
        revoked, now_s = self.revocations().keys, _now(now_s)
        return [(issued, state(issued, revoked, now_s)) for _, issued in sorted(Ledger(self._ledger).newest().items())]

    # -- grants -------------------------------------------------------------------------------------------------

    def grant(
        self,
        node: str,
        publish: Sequence[str] = (),
        subscribe: Sequence[str] = (),
        *,
        no_publish: Sequence[str] = (),
        no_subscribe: Sequence[str] = (),
        owner: str | None = None,
        address: str | None = None,
        client: bool | None = None,
        days: float | None = None,
        new_key: bool = False,
        now_s: float | None = None,
    ) -> Issued:
        """A grant for a new node, or a new one, which replaces the one before, for a node that has one. What is not
        said stays as it was: key, topics, owner, address, whether it is a client only, how many days it is good.
        `no_publish` and `no_subscribe` take topics away. All the node needs then lies in `folder_of(node)`."""
        wishes.named(node, wishes.NODE_MAX, "node", "--node")
        now_s = _now(now_s)
        with files.alone(self.folder):
            ledger = Ledger(self._ledger)
            before = ledger.newest().get(node)
            if before is None:
                ledger.refuse_twin(node)
            topics = (
                wishes.changed(before.publish if before else (), publish, no_publish, "--publish"),
                wishes.changed(before.subscribe if before else (), subscribe, no_subscribe, "--subscribe"),
            )
            if not any(topics):
                raise Misuse(
                    f"{node} could do nothing any more: shut it out with gossamer keys revoke --node {node}"
                    if before
                    else f"{node} may do nothing yet: add --publish .topic or --subscribe .topic"
                )
            valid_s = wishes.validity(days, before, now_s)
            label = wishes.label(owner if owner is not None else before.owner if before else "")
            place = wishes.address(address if address is not None else before.address if before else "")
            self._refuse_place(node, place, topics[1], now_s)
            serial = max(int(now_s * 1e6), before.serial + 1 if before else 0)
            signer = Signer.new() if before is None or new_key else None
            key = signer.key if signer else bytes.fromhex(before.key if before else "")
            only = client if client is not None else before.client if before else False
            grant = Grant(self.id, node, key, *topics, *valid_s, label, serial, place, only)
            return self._issue(ledger, grant, signer)

    def _refuse_place(self, node: str, place: Address, subscribe: Sequence[str], now_s: float) -> None:
        """Who lives somewhere carries what its neighbours read; and nobody else lives there."""
        if place and not subscribe:
            raise Misuse(
                f"{node} may read nothing, so it has no use for --address: add --subscribe .topic, or leave it"
            )
        for other, worth in self.nodes(now_s) if place else ():
            if other.address == written(place) and other.node != node and worth in ("good", "not yet"):
                raise Misuse(f"{other.node} lives at {other.address}: choose another --address, or revoke {other.node}")

    def _issue(self, ledger: Ledger, grant: Grant, signer: Signer | None = None) -> Issued:
        """Noted first, so that whatever is out can be revoked."""
        issued = Issued.of(grant, self.authority.signer.short)
        if issued.fingerprint in self.revocations().keys:
            raise Misuse(f"the key of {grant.node} is revoked: add --new-key to give it another")
        sealed, certificate = seal_grant(grant, self.authority.signer), node_certificate(grant, self.authority.signer)
        ledger.add(issued)
        there = self.folder_of(grant.node)
        files.make_folder(there)
        files.write(there / folder.SECRET, files.read_private(self.folder / folder.SECRET), private=True)
        self._share(there)
        if signer:
            signer.write(there / folder.KEY)
        files.write(there / folder.CERTIFICATE, certificate)
        files.write(there / folder.GRANT, sealed)
        return issued

    # -- revocation -----------------------------------------------------------------------------------------------

    def revoke(self, node: str | None = None, key: str | None = None, now_s: float | None = None) -> list[Revoked]:
        """All keys a node has had so far, or one (by the start of its fingerprint), shut out; those newly so."""
        with files.alone(self.folder):
            ledger, list_before = Ledger(self._ledger), self.revocations()
            chosen = {each.fingerprint: each.node for each in wishes.chosen(ledger.entries, node, key)}
            fresh = [Revoked(each, whose) for each, whose in chosen.items() if each not in list_before.keys]
            if not fresh:
                raise Misuse(f"{key or node} is revoked already")
            now_s = _now(now_s)
            kept = [each for each in list_before.revoked if ledger.last_day(each.key) + 2 * SKEW_S >= now_s]
            if len(kept) + len(fresh) > KEYS_MAX:
                raise Misuse(
                    f"the list of revoked keys holds {KEYS_MAX:,}: start a new network with gossamer keys init"
                )
            self._publish_list((*kept, *fresh), list_before.version + 1, now_s)
            return fresh

    def _publish_list(self, revoked: tuple[Revoked, ...], version: int, now_s: float) -> None:
        """Signed by the elder of two authorities: everybody trusts it, whether or not the heir is known there yet."""
        made = Revocations(self.id, version, int(now_s), revoked)
        sealed = seal_revocations(made, self.authority.elder or self.authority.signer)
        files.write(self.folder / folder.REVOKED, sealed)
        self._share_all()

    # -- auditing -------------------------------------------------------------------------------------------------

    def make_audit_key(self, new_key: bool = False, passphrase: bytes | None = None) -> AuditKey:
        """The key that audits: its public half goes into every node's folder, the other stays here. A new one is used
        from then on; the one before is kept, since it alone opens what was sealed to it."""
        with files.alone(self.folder):
            at = self.folder / auditing.KEY
            if at.exists() and not new_key:
                raise Misuse(f"{at} is there already: add --new-key to have another from now on, and keep this one")
            made = AuditKey.new()
            if at.exists():
                public = self.folder / files.AUDIT_PUBLIC
                known = short(auditing.read_public(public)).hex() if public.exists() else made.short.hex()
                at.rename(at.with_name(f"audit-before-{known}.key"))
            made.write(at, passphrase)
            made.write_public(self.folder / files.AUDIT_PUBLIC)
            self._share_all()
            return made

    # -- changes of keys -------------------------------------------------------------------------------------------

    def rotate_authority(self, now_s: float | None = None) -> None:
        """A second authority, trusted beside the first, issues from now on. Nodes learn of it by their folders."""
        with files.alone(self.folder):
            self.authority.rotate(_now(now_s))
            self._share_all()

    def refresh(self, now_s: float | None = None) -> list[str]:
        """Brings every node's folder up to date; the nodes whose grants were issued anew, by the newer authority."""
        with files.alone(self.folder):
            ledger, stale = Ledger(self._ledger), self._stale(_now(now_s))
            for each in stale:
                topics = each.publish, each.subscribe
                dates = each.not_before_s, each.not_after_s
                key, place = bytes.fromhex(each.key), wishes.address(each.address)
                grant = Grant(self.id, each.node, key, *topics, *dates, each.owner, each.serial + 1, place, each.client)
                self._issue(ledger, grant)
            self._share_all()
            return [each.node for each in stale]

    def retire_authority(self, now_s: float | None = None) -> None:
        """Drops the elder authority, once nothing of its making is in use."""
        now_s = _now(now_s)
        with files.alone(self.folder):
            if self.authority.elder is None:
                raise Misuse(f"there is one authority: gossamer keys rotate-authority {self.folder} makes a second")
            if stale := self._stale(now_s):
                raise Misuse(
                    f"{stale[0].node} still depends on the old authority: run gossamer keys refresh {self.folder}, "
                    f"reload the nodes, then retire it"
                )
            before = self.revocations()
            self.authority.elder = None
            self._publish_list(before.revoked, before.version + 1, now_s)
            self.authority.retire()
            self._share_all()

    def _stale(self, now_s: float) -> list[Issued]:
        current = self.authority.signer.short.hex()
        return [
            issued
            for issued, worth in self.nodes(now_s)
            if worth in ("good", "not yet") and issued.authority != current
        ]

    def _share_all(self) -> None:
        for path in sorted((self.folder / NODES).iterdir()):
            if path.is_dir():
                self._share(path)

    def _share(self, there: Path) -> None:
        """The bundle first: it vouches for the list."""
        audits = [files.AUDIT_PUBLIC] if (self.folder / files.AUDIT_PUBLIC).exists() else []
        for name in (folder.BUNDLE, folder.REVOKED, *audits):
            data = files.read(self.folder / name)
            if not (there / name).exists() or files.read(there / name) != data:
                files.write(there / name, data)

    @property
    def _ledger(self) -> Path:
        return self.folder / LEDGER


def state(issued: Issued, revoked: frozenset[bytes], now_s: float) -> State:
    if issued.fingerprint in revoked:
        return "revoked"
    if now_s > issued.not_after_s + SKEW_S:
        return "expired"
    return "good" if now_s >= issued.not_before_s - SKEW_S else "not yet"


def _now(now_s: float | None) -> float:
    return time.time() if now_s is None else now_s
