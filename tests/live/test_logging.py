"""What a node says: by the standard `logging`, for a program that asks for it, and to no place of its own."""

import json
import subprocess
import sys

PROGRAM = """
import asyncio, json, logging
import gossamer

async def main() -> None:
    node = gossamer.Node(name="a", bind="127.0.0.1:0", timeouts={"leave_s": 0.1})
    async with node, gossamer.Client(node.address) as client:
        await client.publish(".x", b"said")

asyncio.run(main())
known = {name: logging.getLogger(name) for name in logging.root.manager.loggerDict if name.startswith("gossamer")}
known["root"] = logging.getLogger()
print(json.dumps({name: [len(each.handlers), each.level, each.propagate] for name, each in known.items()}))
"""


def test_neither_the_import_nor_a_node_installs_a_handler_or_sets_a_level() -> None:
    """In a process of its own: pytest has handlers everywhere."""
    told = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    loggers = json.loads(told.stdout)
    assert loggers.pop("root") == [0, 30, True]
    assert {"gossamer", "gossamer.node", "gossamer.links"} <= {*loggers}
    assert {name: each for name, each in loggers.items() if each != [0, 0, True]} == {}
    assert told.stderr == ""
