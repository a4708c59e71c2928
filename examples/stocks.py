"""Readers that want only some events of a topic, by their attributes. Run: python examples/stocks.py"""

import asyncio

import gossamer

QUOTES = [
    ("IBM", 101.5, False),
    ("IBM", 99.0, False),
    ("SAP", 120.0, True),
    ("SAP", 121.0, False),
    ("XYZ", 500.0, False),
]
WHERE = 'symbol in ("IBM", "SAP") and price > 100 and not halted'


async def main() -> None:
    async with (
        gossamer.Node(name="reader", bind="127.0.0.1:0") as reader,
        gossamer.Node(name="exchange", bind="127.0.0.1:0", seeds=[reader.address]) as exchange,
        reader.subscribe(".stocks", where=WHERE, ordered=True) as inbox,
    ):
        for symbol, price, halted in QUOTES:
            await exchange.publish(".stocks", attributes={"symbol": symbol, "price": price, "halted": halted})
        for _ in range(2):
            quote = await anext(inbox)
            print(f"{quote.attributes['symbol']} at {quote.attributes['price']}")
        try:
            reader.subscribe(".stocks", where="price > 100 and symbol = IBM")
        except gossamer.errors.Misuse as wrong:
            print(wrong)


asyncio.run(main())
