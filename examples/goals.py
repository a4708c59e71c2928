"""Topics as types: events are objects, and who reads a class reads those below it. Run: python examples/goals.py"""

import asyncio
from typing import Annotated

import gossamer


class Sport(gossamer.Typed): ...


class City(gossamer.Typed):
    name: str = ""


class Soccer(Sport):
    team: str
    minute: Annotated[int, gossamer.Filterable]


class Derby(Soccer, parents=(City,)):
    name: str = ""


async def main() -> None:
    async with (
        gossamer.Node(name="reader", bind="127.0.0.1:0") as reader,
        gossamer.Node(name="stadium", bind="127.0.0.1:0", seeds=[reader.address]) as stadium,
        reader.subscribe(Sport, where="minute > 80") as late,
        reader.subscribe(City) as cities,
    ):
        await stadium.publish(Soccer(team="Lazio", minute=7))
        await stadium.publish(Derby(team="Roma", minute=88, name="Rome"))
        async for item in late:
            if isinstance(item, Soccer):
                print(f"{type(item).__name__}: {item.team} in minute {item.minute}")
                break
        async for city in cities:
            print(city)
            break


asyncio.run(main())
