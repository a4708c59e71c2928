"""gossamer keys: who may join, publish and subscribe."""

import time
from pathlib import Path

import click

from gossamer.cli.keys_shown import row, show_facts, show_table, tell_issued
from gossamer.cli.terminal import say, say_json
from gossamer.core.errors import Misuse
from gossamer.live.keys import files
from gossamer.live.keys.folder import KEY, read_papers
from gossamer.live.keys.ledger import Issued
from gossamer.live.keys.network import Network, state
from gossamer.live.keys.wishes import DAYS

network = click.argument("net", type=click.Path(path_type=Path))
as_json = click.option("--json", "as_json", is_flag=True, help="As JSON.")
node = click.option("--node", required=True, metavar="NAME", help="The node's name, which it keeps for life.")
days = click.option("--days", type=int, help=f"How long the grant is good, from now; as long as before, or {DAYS}.")
passphrase = click.option(
    "--passphrase-file", type=click.Path(path_type=Path), help="Opens authority.key, if it is encrypted."
)


class InOrder(click.Group):
    """Lists its commands as one comes to need them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group("keys", cls=InOrder, epilog="Example: gossamer keys init net")
def command() -> None:
    """Who may join, publish and subscribe.

    NET is the network's folder: it holds the authority's key, so keep it away from the nodes. Each node needs its own
    folder, NET/nodes/NAME, and nothing else.
    """


@command.command(epilog="Example: gossamer keys init net")
@network
@click.option("--name", help="What the network is called; the folder's name otherwise.")
@click.option("--passphrase-file", type=click.Path(path_type=Path), help="Encrypts authority.key with what it holds.")
def init(net: Path, name: str | None, passphrase_file: Path | None) -> None:
    """Make a network: an authority, and nobody in it yet."""
    made = Network.init(net, name, read_passphrase(passphrase_file))
    say(f"{net} is the network {made.id}. Next: gossamer keys grant {net} --node NAME --publish .topic")


@command.command(epilog="Example: gossamer keys grant net --node node-7 --publish .soccer --subscribe .soccer")
@network
@node
@click.option("--publish", multiple=True, metavar="TOPIC", help="May publish on it and below (repeatable).")
@click.option("--subscribe", multiple=True, metavar="TOPIC", help="May subscribe to it and below (repeatable).")
@click.option("--no-publish", multiple=True, metavar="TOPIC", help="Takes a topic away that was granted (repeatable).")
@click.option("--no-subscribe", multiple=True, metavar="TOPIC", help="The same for a topic it may subscribe to.")
@click.option("--owner", help="Who runs the node: no view is more than a quarter one owner's; not for hpmcast.")
@click.option("--address", metavar="DIGITS", help="Where it lives in hpmcast's hierarchy, e.g. 2.0.1; '': nowhere.")
@click.option("--client/--no-client", default=None, help="It uses nodes, and is none itself.")
@days
@click.option("--new-key", is_flag=True, help="Give the node a new key too.")
@passphrase
@as_json
def grant(
    net: Path,
    node: str,
    publish: tuple[str, ...],
    subscribe: tuple[str, ...],
    no_publish: tuple[str, ...],
    no_subscribe: tuple[str, ...],
    owner: str | None,
    address: str | None,
    client: bool | None,
    days: int | None,
    new_key: bool,
    passphrase_file: Path | None,
    as_json: bool,
) -> None:
    """Let a node in, or give it a new grant.

    What is not said stays as it was: key, topics, owner, address, client. --no-publish and --no-subscribe take topics
    away. A running node takes the new grant on SIGHUP, once its folder is where the node reads it; another address,
    when it starts again.
    """
    of = Network(net, read_passphrase(passphrase_file))
    issued = of.grant(
        node,
        publish,
        subscribe,
        no_publish=no_publish,
        no_subscribe=no_subscribe,
        owner=owner,
        address=address,
        client=client,
        days=days,
        new_key=new_key,
    )
    tell_issued(of, issued, as_json)


@command.command(epilog="Example: gossamer keys rotate net --node node-7")
@network
@node
@days
@passphrase
@as_json
def rotate(net: Path, node: str, days: int | None, passphrase_file: Path | None, as_json: bool) -> None:
    """Give a node a new key.

    Its topics, owner and address stay, and what it signed with the old key stays good; revoke that key if it was
    stolen.
    """
    of = Network(net, read_passphrase(passphrase_file))
    if node not in [issued.node for issued, _ in of.nodes()]:
        raise Misuse(f"{node} has no key to replace: let it in with gossamer keys grant {net} --node {node}")
    tell_issued(of, of.grant(node, days=days, new_key=True), as_json)


@command.command(epilog="Example: gossamer keys revoke net --node node-7")
@network
@click.option("--node", metavar="NAME", help="All keys this node has had so far.")
@click.option("--key", metavar="FINGERPRINT", help="Only this key: 8 letters or more of its fingerprint.")
@passphrase
@as_json
def revoke(net: Path, node: str | None, key: str | None, passphrase_file: Path | None, as_json: bool) -> None:
    """Shut a node out for good.

    The list of revoked keys goes into every node's folder; one node that is told (SIGHUP) tells all others.
    """
    of = Network(net, read_passphrase(passphrase_file))
    fresh, version = of.revoke(node, key), of.revocations().version
    if as_json:
        say_json({"version": version, "revoked": [{"node": each.node, "key": each.key.hex()} for each in fresh]})
        return
    for each in fresh:
        say(f"revoked {each.key.hex()[:16]} of {each.node}")
    say(f"The list is now version {version}: tell one running node, with SIGHUP.")


@command.command(epilog="Example: gossamer keys audit net")
@network
@click.option("--new-key", is_flag=True, help="Make another, to be used from now on; the one before is kept.")
@click.option("--passphrase-file", type=click.Path(path_type=Path), help="Encrypts audit.key with what it holds.")
def audit(net: Path, new_key: bool, passphrase_file: Path | None) -> None:
    """Make the key that audits.

    NET/audit.key opens what nodes seal in their traces, so that filters can be judged: give it to whoever runs
    gossamer audit, and to no node. Its public half, audit.pub, goes into every node's folder; a node seals to it from
    its next start on.
    """
    made = Network(net).make_audit_key(new_key, read_passphrase(passphrase_file))
    say(f"{net}/audit.key ({made.short.hex()}) opens traces: gossamer audit TRACES --key {net}/audit.key")
    say(f"Bring the folders in {net}/nodes to their nodes; each seals to it from its next start on.")


@command.command("list", epilog="Example: gossamer keys list net")
@network
@as_json
def list_(net: Path, as_json: bool) -> None:
    """Everybody who was let in, with what they may do."""
    of = Network(net)
    rows = [row(issued, worth) for issued, worth in of.nodes()]
    if as_json:
        say_json(rows)
    elif not rows:
        say(f"Nobody yet: gossamer keys grant {net} --node NAME --publish .topic")
    else:
        show_table(rows)


@command.command(epilog="Example: gossamer keys show net/nodes/node-7")
@click.argument("folder", type=click.Path(path_type=Path))
@as_json
def show(folder: Path, as_json: bool) -> None:
    """What is in a node's folder."""
    papers = read_papers(folder)
    issued = Issued.of(papers.grant, papers.authority)
    told = row(issued, state(issued, papers.revocations.keys, time.time())) | {
        "network": papers.grant.network,
        "authority": issued.authority,
        "trusts": [each.hex() for each in papers.authorities.keys],
        "revoked_version": papers.revocations.version,
        "revoked_keys": len(papers.revocations.revoked),
        "has_key": (folder / KEY).exists(),
    }
    if as_json:
        say_json(told)
        return
    show_facts(told)


@command.command("rotate-authority", epilog="Example: gossamer keys rotate-authority net")
@network
@passphrase
def rotate_authority(net: Path, passphrase_file: Path | None) -> None:
    """Make a second authority, which issues from now on.

    Nodes must know it before they meet its first grant, so bring the folders out now, and refresh after that.
    """
    Network(net, read_passphrase(passphrase_file)).rotate_authority()
    say(f"Two authorities. Next: bring the folders in {net}/nodes to their nodes and reload them (SIGHUP);")
    say(f"then gossamer keys refresh {net}, again with a reload; then gossamer keys retire-authority {net}.")


@command.command(epilog="Example: gossamer keys refresh net")
@network
@passphrase
@as_json
def refresh(net: Path, passphrase_file: Path | None, as_json: bool) -> None:
    """Bring every node's folder up to date.

    The authorities, the list of revoked keys, and new grants for what an authority signed that will retire.
    """
    again = Network(net, read_passphrase(passphrase_file)).refresh()
    if as_json:
        say_json({"issued": again})
        return
    say(f"issued again: {', '.join(again) or 'nothing'}. Bring the folders to their nodes and reload them (SIGHUP).")


@command.command("retire-authority", epilog="Example: gossamer keys retire-authority net")
@network
@passphrase
def retire_authority(net: Path, passphrase_file: Path | None) -> None:
    """Drop the older of two authorities, key and all."""
    Network(net, read_passphrase(passphrase_file)).retire_authority()
    say(f"One authority. Bring the folders in {net}/nodes to their nodes and reload them (SIGHUP).")


def read_passphrase(path: Path | None) -> bytes | None:
    if path is None:
        return None
    if not (found := files.read(path).rstrip(b"\r\n")):
        raise Misuse(f"{path} is empty: write the passphrase into it")
    return found
