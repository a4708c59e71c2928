"""The authority's own keys, and how one authority follows another: both are trusted until the elder is retired."""

from functools import cached_property
from pathlib import Path

from cryptography import x509

from gossamer.core.errors import Misuse
from gossamer.live.keys import files
from gossamer.live.keys.certificates import authority_certificate, bundle, key_of, read_bundle
from gossamer.live.keys.sealed import Authorities
from gossamer.live.keys.signing import Signer

KEY, ELDER_KEY, BUNDLE = "authority.key", "authority-old.key", "authorities.pem"


class Authority:
    """Reads a key only when something has to be signed, so that looking needs no passphrase."""

    def __init__(self, folder: Path, network: str, passphrase: bytes | None = None) -> None:
        self.folder, self.network, self.passphrase = folder, network, passphrase

    @cached_property
    def signer(self) -> Signer:
        """Signs certificates and grants."""
        return Signer.read(self.folder / KEY, self.passphrase)

    @cached_property
    def elder(self) -> Signer | None:
        """The one before, while it is still trusted."""
        path = self.folder / ELDER_KEY
        return Signer.read(path, self.passphrase) if path.exists() else None

    def certificates(self) -> list[x509.Certificate]:
        return read_bundle(self.folder / BUNDLE)

    def trusted(self) -> Authorities:
        return Authorities(map(key_of, self.certificates()))

    def start(self, now_s: float) -> None:
        """The first key. The bundle comes last: with it, the authority is there."""
        self.signer = Signer.new()
        self.signer.write(self.folder / KEY, self.passphrase)
        files.write(self.folder / BUNDLE, bundle([authority_certificate(self.network, self.signer, now_s)]))

    def rotate(self, now_s: float) -> None:
        """A second key, which signs from now on. Done in an order that can be taken up again after a crash."""
        if self.elder is not None and self.elder.key != self.signer.key:
            raise Misuse(f"two authorities are trusted already: run gossamer keys retire-authority {self.folder} first")
        mine = [each for each in self.certificates() if key_of(each) == self.signer.key]
        heir = Signer.new()
        files.write(self.folder / BUNDLE, bundle([*mine, authority_certificate(self.network, heir, now_s)]))
        self.signer.write(self.folder / ELDER_KEY, self.passphrase)
        heir.write(self.folder / KEY, self.passphrase)
        self.elder, self.signer = self.signer, heir

    def retire(self) -> None:
        """Drops the elder, key and all."""
        mine = [each for each in self.certificates() if key_of(each) == self.signer.key]
        files.write(self.folder / BUNDLE, bundle(mine))
        (self.folder / ELDER_KEY).unlink(missing_ok=True)
        self.elder = None
