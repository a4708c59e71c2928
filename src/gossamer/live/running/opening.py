"""What a node opens before it is put together: its keys, its spool."""

from gossamer.core.errors import Misuse
from gossamer.live.config.config import Config
from gossamer.live.config.tables import within_memory
from gossamer.live.keys.trust import OpenTrust, Trust
from gossamer.live.running.clock import Clock
from gossamer.live.spool import Spool
from gossamer.live.watching.watched_loop import WatchedLoop


def load_trust(config: Config) -> Trust:
    if config.keys is None:
        return OpenTrust(config.name)
    from gossamer.live.keys.keyring import Keyring  # a node without keys need not load the cryptography

    keyring = Keyring.load(config.keys)
    if config.name and config.name != keyring.name:
        raise Misuse(
            f"name is {config.name!r}, but the keys in {config.keys} are those of {keyring.name!r}: "
            "leave name out, or point keys to the right folder"
        )
    return keyring


async def open_spool(config: Config, name: str, clock: Clock, loop: WatchedLoop) -> Spool | None:
    spool = config.spool
    if spool.durability == "off":
        return None
    return await Spool.open(
        spool.folder,
        node=name,
        durability=spool.durability,
        keep_s=spool.keep_s,
        keep_bytes=within_memory(spool, spool.keep_bytes),
        durable_bytes=within_memory(spool, spool.durable_bytes),
        now_us=clock.now_us,  # a clock that is set while the node runs must not make events old
        loop=loop,
    )
