"""Two nodes with keys of their own: TLS, grants, signed events. Run: python examples/two_nodes.py"""

import asyncio
import tempfile
from pathlib import Path

import gossamer
from gossamer.live.keys.network import Network


async def main(folder: Path) -> None:
    network = Network.init(folder / "net")  # what `gossamer keys init net` does, and `gossamer keys grant`:
    network.grant("anna", publish=[".soccer.italy"])
    network.grant("bert", subscribe=[".soccer"])

    anna_settings = {"keys": network.folder_of("anna"), "bind": "127.0.0.1:0"}
    bert_settings = {"keys": network.folder_of("bert"), "bind": "127.0.0.1:0"}
    async with (
        gossamer.Node(**bert_settings) as bert,
        gossamer.Node(**anna_settings, seeds=[bert.address]) as anna,
        bert.subscribe(".soccer") as inbox,
    ):
        await anna.publish(".soccer.italy", "goal", attributes={"minute": 88})
        event = await anext(inbox)
        print(f"bert read {event.payload.decode()!r} on {event.topic}, minute {event.attributes['minute']}")
        try:
            anna.subscribe(".soccer")
        except gossamer.errors.Misuse as wrong:
            print(f"anna may not read: {wrong}")


with tempfile.TemporaryDirectory() as made:
    asyncio.run(main(Path(made)))
