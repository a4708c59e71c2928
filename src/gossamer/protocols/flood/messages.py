"""What flooding nodes say to each other."""

from typing import TypeAlias

from msgspec import Struct

from gossamer.core.events import Carried


class Pass(Struct, frozen=True, tag="flood.pass"):
    """An event for everybody you know."""

    carried: Carried


Message: TypeAlias = Pass
