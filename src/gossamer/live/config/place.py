"""Where a node lives in hpmcast's hierarchy: at the address it was granted or given, or where its IP address and port
say."""

from typing import Any

from msgspec import structs

from gossamer.core.errors import Misuse
from gossamer.live.config.tables import as_tuple
from gossamer.live.keys.trust import split_address
from gossamer.protocols.hpmcast.addresses import Address, of_node, shape_of, written
from gossamer.protocols.hpmcast.messages import SEATS_MAX
from gossamer.protocols.hpmcast.params import Params

BY_ENDPOINT = (256, 256, 256, 256, 65_536)
"The digits of an IP address, then the port: every host is a lowest group."
LEVELS_MAX = 16
RADIX_MAX = 1 << 32


class HpmcastConfig(Params, frozen=True, kw_only=True):
    """[hpmcast]: parameters of the protocol, and where the node lives."""

    branching: tuple[int, ...] = BY_ENDPOINT
    "How many subsystems there may be on each level, the topmost first; as many levels as numbers. The same everywhere."
    address: str = ""
    """Where this node lives, digits with dots between. Empty: where its grant says, or else its first address of
    `advertise`, or `bind`."""
    first_port: int = 0
    "The port that counts as 0, where a digit counts ports."

    def __post_init__(self) -> None:
        as_tuple(self, "branching")
        super().__post_init__()
        if not 1 <= len(self.branching) <= LEVELS_MAX or not all(2 <= each <= RADIX_MAX for each in self.branching):
            raise Misuse(f"branching must be 1 to {LEVELS_MAX} numbers from 2 to 2^32, not {[*self.branching]}")
        if self.delegates > SEATS_MAX:
            raise Misuse(f"delegates must be at most {SEATS_MAX} where views are kept up, not {self.delegates}")
        if not 0 <= self.first_port < 1 << 16:
            raise Misuse(f"first_port must be 0 to 65535, not {self.first_port}")

    @property
    def params(self) -> Params:
        """Those of the protocol."""
        return Params(**{name: getattr(self, name) for name in Params.__struct_fields__})

    def lives_at(self, endpoint: str, granted: Address = ()) -> Address:
        """The address of a node that others reach at `endpoint`, and whose grant may say where it lives."""
        if self.variant != "hpmcast" and len(self.branching) > 1:
            raise Misuse(f"hpmcast.branching must be one number: {self.variant} has one level")
        logical = self.address or written(granted)
        if not logical and (endpoint.startswith("memory:") or split_address(endpoint)[1] == 0):
            raise Misuse(
                f"hpmcast.address is missing: write digits like {shape_of(self.branching)}, or with keys grant them "
                "(gossamer keys grant --address); they can be told from an IP address and a fixed port only"
            )
        try:
            place = of_node(logical, endpoint, self.branching, self.first_port)
        except Misuse as wrong:
            if self.address or not granted:
                raise Misuse(f"hpmcast.address: {wrong}") from None
            raise Misuse(
                f"hpmcast.branching has addresses like {shape_of(self.branching)}, and this node was granted "
                f"{logical}: make it that of the network, or have another granted with gossamer keys grant --address"
            ) from None
        if granted and place != granted:
            raise Misuse(
                f"hpmcast.address is {self.address}, but this node was granted {written(granted)}: leave it out, "
                f"or have it granted with gossamer keys grant --address {self.address}"
            )
        return place


LIVE_PLACE = HpmcastConfig(**structs.asdict(Params.live()))
EXCHANGING: dict[str, Any] = {"method": "exchange", "push_every_us": 0, "tail_after_us": 0}
"Recovery, where nothing is said of it: no gaps show in this spread."
