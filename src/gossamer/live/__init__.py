"""Nodes that run: asyncio performs the effects of the same machines the simulator runs."""
