"""TLS as the standard library has it: version 1.3, both sides prove themselves, nobody trusted but our authorities."""

import ssl
from collections.abc import Callable

from gossamer.core.errors import Misuse
from gossamer.live.keys.folder import CERTIFICATE, KEY, Papers

Connection = ssl.SSLSocket | ssl.SSLObject


def contexts(papers: Papers) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """For calls taken and for calls made."""
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False  # a node is its name and its key, wherever it listens
    server.num_tickets = 0  # links last: nothing to resume, and nothing unread when a link closes early
    for each in (server, client):
        each.minimum_version = ssl.TLSVersion.TLSv1_3
        each.verify_mode = ssl.CERT_REQUIRED
        each.verify_flags |= ssl.VERIFY_X509_STRICT
        try:
            each.load_cert_chain(papers.folder / CERTIFICATE, papers.folder / KEY)
            each.load_verify_locations(cadata=papers.bundle.decode())
        except (ssl.SSLError, OSError) as wrong:
            raise Misuse(f"the keys in {papers.folder} are of no use for TLS: {wrong}") from None
    return server, client


def follow(door: ssl.SSLContext, current: Callable[[], ssl.SSLContext]) -> None:
    """Makes a context that is in use already answer every new call as another, current, one would."""

    def answer(connection: Connection, name: str | None, asked: ssl.SSLContext) -> None:
        connection.context = current()

    door.sni_callback = answer
