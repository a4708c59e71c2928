"""How results about hpmcast are looked up and put into words; its claims share these."""

from collections.abc import Callable, Sequence

from gossamer.lab.book import ALL, Book, Line, last_word
from gossamer.lab.claims import Claim, number, verdict

A, LEVELS, R, F = 22, 3, 3, 2
"Of most figures: 22³ participants on three levels, three delegates, two participants picked."
PARTICIPANTS: int = A**LEVELS


def at(book: Book, file: str, metric: str, **swept: object) -> list[Line]:
    """A series along what is swept."""
    return book.series(f"hpmcast/{file}", ALL, metric, **swept)


def one(book: Book, file: str, metric: str, **swept: object) -> Line:
    return book.find(f"hpmcast/{file}", ALL, metric, **swept)


def told(lines: Sequence[Line], field: str, say: Callable[[float], str] = number) -> str:
    """Every mean, with what was swept."""
    return " · ".join(f"{say(line.mean)} ({last_word(line.point)[field]})" for line in lines)


def percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def nines(value: float) -> str:
    """Percents of shares close to all."""
    return f"{100 * value:.2f} %"


def judged(id: str, where: str, paper_says: str, ours: str, holds: bool, why: str, line: Line | None = None) -> Claim:
    """A claim with its verdict; interval and runs are those of the line it turns on, if it turns on any."""
    said = {} if line is None else {"ci95": line.ci95, "runs": line.runs}
    return Claim(id=id, where=where, paper_says=paper_says, ours=ours, verdict=verdict(holds), why=why, **said)  # type: ignore[arg-type]
