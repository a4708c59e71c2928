"""Towns of nodes as live ones are: they recover what is lost, keep a log, and catch up."""

from msgspec.structs import replace

from gossamer.core.ids import Peer
from gossamer.core.stack import Stack
from gossamer.core.topics import Hierarchy
from gossamer.protocols.assemble import Design, SpreadName
from gossamer.protocols.camcast.params import Params as CamcastParams
from gossamer.protocols.catchup.params import Params as CatchUpParams
from gossamer.protocols.recovery.params import Params as RecoveryParams
from gossamer.protocols.scamp.params import Params as ScampParams
from gossamer.protocols.search.params import Params as SearchParams
from gossamer.sim.town import Town

COUNTED = replace(RecoveryParams.live(), store=False)
EXCHANGE = replace(COUNTED, method="exchange", push_every_us=0, tail_after_us=0)
BRANCHING = (4, 16)
"Where a hierarchy is: room for 64 processes, numbered from 0."


CATCH_UP = CatchUpParams()


def live_town(spread: SpreadName, seed: int = 1, catchup: CatchUpParams | None = CATCH_UP, **options: object) -> Town:
    """`options` are the town's."""
    recovery = EXCHANGE if spread == "hpmcast" else COUNTED

    def node(me: Peer) -> Stack:
        return Design(spread=spread, branching=BRANCHING, address=(me % 4, me // 4)).node(
            me,
            seed,
            Hierarchy(),
            lambda topic: CamcastParams.live(),
            ScampParams,
            SearchParams(),
            lambda topic: topic,
            lambda topic: recovery,
            catchup,
        )

    return Town(node, Design(spread=spread).messages, seed, logged=True, **options)  # type: ignore[arg-type]
