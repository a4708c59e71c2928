"""A node's folder: all that a node needs of its network, as `gossamer keys grant` makes it."""

from pathlib import Path

from msgspec import Struct

from gossamer.core.errors import Misuse, PeerFault
from gossamer.live.keys import files
from gossamer.live.keys.certificates import bundle, key_of, read_bundle, read_caller
from gossamer.live.keys.grants import Grant, open_grant
from gossamer.live.keys.revoked import Revocations, open_revocations
from gossamer.live.keys.sealed import Authorities
from gossamer.live.keys.signing import Signer

KEY, CERTIFICATE, GRANT, BUNDLE, SECRET, REVOKED = (
    *("node.key", "node.crt", "grant"),
    *("authorities.pem", "network.secret", "revoked"),
)
SECRET_BYTES = 32


class Papers(Struct, frozen=True):
    """What lies in a folder, found whole and consistent. Whether it is in date is for others to say."""

    folder: Path
    grant: Grant
    authority: bytes
    "Short form of the key of the authority that signed the grant."
    sealed: bytes
    "The grant as it travels."
    authorities: Authorities
    bundle: bytes
    secret: bytes
    revocations: Revocations
    revoked: bytes
    "The list of revoked keys as it travels."


def read_papers(folder: Path) -> Papers:
    if not folder.is_dir():
        raise Misuse(f"there is no folder {folder}: copy what `gossamer keys grant` made for this node")
    certificates = read_bundle(folder / BUNDLE)
    authorities = Authorities(map(key_of, certificates))
    sealed, revoked = files.read(folder / GRANT), files.read(folder / REVOKED)
    try:
        grant, authority = open_grant(sealed, authorities)
    except PeerFault as wrong:
        raise Misuse(f"{folder / GRANT} is not good ({wrong}): run gossamer keys grant for this node again") from None
    revocations = read_revocations(folder / REVOKED, authorities)
    owner = read_caller(folder / CERTIFICATE)
    if (owner.name, owner.key) != (grant.node, grant.key):
        raise Misuse(f"{folder / CERTIFICATE} and {folder / GRANT} do not belong together: copy both again")
    secret = files.read_private(folder / SECRET)
    if len(secret) != SECRET_BYTES:
        raise Misuse(f"{folder / SECRET} is damaged: copy the one of the network's folder")
    return Papers(folder, grant, authority, sealed, authorities, bundle(certificates), secret, revocations, revoked)


def read_revocations(path: Path, authorities: Authorities) -> Revocations:
    try:
        return open_revocations(files.read(path), authorities)
    except PeerFault as wrong:
        raise Misuse(f"{path} is not good ({wrong}): copy the one of the network's folder") from None


def read_signer(papers: Papers) -> Signer:
    """The node's own key, if it is the one the grant names."""
    signer = Signer.read(papers.folder / KEY)
    if signer.key != papers.grant.key:
        raise Misuse(f"{papers.folder / KEY} is not the key of {CERTIFICATE} beside it: copy both again")
    return signer
