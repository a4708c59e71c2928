"""What can be tuned in the search for contacts."""

from msgspec import Struct

from gossamer.core.errors import Misuse
from gossamer.protocols.search.messages import PEERS_MAX

NEIGHBOURS_MAX = 3
HOPS_MAX = 4
"One request causes at most 3 + 9 + 27 + 81 others, whatever a node's settings say."


class Params(Struct, frozen=True, kw_only=True):
    neighbours: int = 3
    "Peers each request goes to at each hop. neighbours + … + neighbours ** ttl bounds what one request may cause."
    ttl: int = 4
    "Hops a request may travel."
    answers: int = 5
    "Contacts named in one answer."
    acquaintances: int = 64
    "Peers remembered as neighbourhood, most recently heard first."
    remembered: int = 64
    """Peers known from the start, and as many given up, that are still asked now and then: one with each request. More:
    surer to find the other parts of a network that fell apart for long, at the cost of nothing but memory."""

    def __post_init__(self) -> None:
        if self.neighbours < 1 or self.ttl < 1 or self.answers < 1 or self.acquaintances < 1:
            raise Misuse("neighbours, ttl, answers and acquaintances must each be at least 1")
        if self.remembered < 1:
            raise Misuse(f"remembered must be at least 1, not {self.remembered}: islands would stay apart")
        if self.neighbours > NEIGHBOURS_MAX or self.ttl > HOPS_MAX:
            raise Misuse(
                f"neighbours must be at most {NEIGHBOURS_MAX} and ttl at most {HOPS_MAX}: a search would flood"
            )
        if self.answers > PEERS_MAX:
            raise Misuse(f"answers must be at most {PEERS_MAX}: nobody would hear of more")
