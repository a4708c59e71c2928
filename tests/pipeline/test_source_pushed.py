"""What is asked of rows is asked of events, inside the network: the answer is the same, and less comes."""

import random
from functools import reduce
from operator import and_
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as f

import gossamer.pipeline
from gossamer.live.clients.arguments import Publication
from gossamer.live.config.tables import TraceConfig
from gossamer.protocols.dispatch.layer import Dispatch
from pipeline.live_nodes import Nodes, nodes, publication
from pipeline.predicates import DECLARED, drawn, event

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
HASTY = {"beat_every_us": 50_000, "patience_us": 120_000, "repeat_us": 50_000, "agree_every_us": 200_000}
EVENTS, QUESTIONS, AT_ONCE = 200, 200, 20
"Of one to four conditions each: five hundred."


def knows(network: Nodes, name: str, patterns: int) -> bool:
    spread = network.nodes[name].station.machine.spread
    assert isinstance(spread, Dispatch)
    return len(spread.known()) == patterns


def test_other_events_never_reach_the_node_that_is_read(spark: "SparkSession", tmp_path: Path) -> None:
    """Its traces show everything it was sent."""
    spark.dataSource.register(gossamer.pipeline.Gossamer)
    traces, symbols = tmp_path / "traces", ["IBM", "SAP", "XYZ"]
    with nodes(tmp_path) as network:
        network.start("anna", spread="dispatch", dispatch=HASTY)
        bert = network.start("bert", spread="dispatch", dispatch=HASTY, trace=TraceConfig(folder=traces, level="full"))
        asked = {"nodes": bert.address, "topic": ".stocks", "name": "ibm", "where": "symbol == 'IBM'"}

        def run() -> "DataFrame":
            rows = spark.readStream.format("gossamer").options(**asked).load()
            writing = rows.writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
            writing.trigger(availableNow=True).start(str(tmp_path / "rows")).awaitTermination()
            return spark.read.parquet(str(tmp_path / "rows"))

        run()
        network.wait(lambda: knows(network, "anna", 1))
        ids = network.publish("anna", [publication(number, symbol=symbols[number % 3]) for number in range(30)])
        network.wait(lambda: network.places("bert") >= 10)
        assert sorted(row.id for row in run().collect()) == sorted(ids[::3])
    seen = spark.read.format("gossamer").option("traces", str(traces)).load().where("sequence is not null")
    came = seen.where("kind in ('receive', 'deliver', 'relay', 'parasite', 'duplicate')")
    found = {f"{row.publisher}-{row.incarnation}-{row.sequence}" for row in came.collect()}
    assert found == {*ids[::3]}


def question(draws: random.Random) -> "list[Column]":
    """Conditions that must all hold."""
    return [drawn(draws)[1] for _ in range(draws.choice([1, 2, 3, 4]))]


@pytest.mark.slow
def test_whatever_is_asked_the_answer_is_the_same_asked_at_the_nodes_and_of_the_rows(
    spark: "SparkSession", tmp_path: Path
) -> None:
    spark.dataSource.register(gossamer.pipeline.Gossamer)
    spark.conf.set(PUSHDOWN, "true")
    draws = random.Random(11)
    with nodes(tmp_path) as network:
        anna = network.start("anna", subscribe=[".stocks"])
        told = [event(draws, number) for number in range(EVENTS)]
        network.publish("anna", [Publication(each.topic, b"", each.attributes, None) for each in told])
        network.wait(lambda: network.places("anna") == EVENTS)
        asked = {"nodes": anna.address, "topic": ".stocks", "attributes": DECLARED}
        whole = spark.read.format("gossamer").options(**asked).load().cache()
        assert whole.count() == EVENTS

        def frame(pushed: bool) -> "DataFrame":
            """One of its own for each question that is pushed: see the option."""
            return spark.read.format("gossamer").options(**asked, pushdown="true").load() if pushed else whole

        some = matching = predicates = 0
        for start in range(0, QUESTIONS, AT_ONCE):
            asked_now = [question(draws) for _ in range(AT_ONCE)]
            predicates += sum(map(len, asked_now))
            answers = []
            for pushed in (True, False):
                parts = [
                    frame(pushed).where(reduce(and_, each)).select(f.lit(at).alias("at"), "id")
                    for at, each in enumerate(asked_now)
                ]
                found = reduce(lambda one, other: one.unionAll(other), parts).collect()
                answers.append(sorted((row["at"], row["id"]) for row in found))
            assert answers[0] == answers[1], f"questions {start} to {start + AT_ONCE}"
            some += len({at for at, _ in answers[0]})
            matching += len(answers[0])
        assert predicates >= 450
        print(f"{predicates} predicates in {QUESTIONS} questions, of which {some} match {matching} rows in all")
    spark.conf.unset(PUSHDOWN)
