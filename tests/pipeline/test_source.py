"""The network as a table: rows are the events of nodes' logs, each once, whatever is asked, killed or asked again."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.types import StructType

from gossamer.core.errors import Misuse
from gossamer.live.config.tables import TraceConfig
from gossamer.pipeline.desk import still_active
from gossamer.pipeline.sink import sink
from gossamer.pipeline.source_options import reading, writing
from gossamer.pipeline.source_traces import TRACE_COLUMNS
from pipeline.live_nodes import Nodes, nodes, publication

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


@pytest.fixture(scope="module")
def table(spark: "SparkSession") -> "Iterator[SparkSession]":
    import gossamer.pipeline

    with still_active(spark):  # a test before may have left another session so
        spark.dataSource.register(gossamer.pipeline.Gossamer)
    spark.conf.set(PUSHDOWN, "true")
    yield spark
    spark.conf.unset(PUSHDOWN)


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Nodes]":
    with nodes(tmp_path_factory.mktemp("nodes")) as made:
        for name in ("anna", "bert"):
            made.start(name, subscribe=[".stocks", ".copies"])
        yield made


def read(spark: "SparkSession", *addresses: str, **options: object) -> "DataFrame":
    told = {"topic": ".stocks", "nodes": ",".join(addresses), **options}
    return spark.read.format("gossamer").options(**{name: str(value) for name, value in told.items()}).load()


def test_a_batch_has_each_event_once_from_one_node_or_several(table: "SparkSession", network: Nodes) -> None:
    symbols, before = ["IBM", "SAP", "XYZ"], {name: network.places(name) for name in network.nodes}
    ids = network.publish(
        "anna", [publication(number, symbol=symbols[number % 3], price=float(number)) for number in range(60)]
    )
    network.wait(lambda: all(network.places(name) == start + 60 for name, start in before.items()))
    anna, bert = (network.nodes[name].address for name in ("anna", "bert"))
    declared = "symbol string, price double"
    one = read(table, anna, attributes=declared, partitions=2, pushdown="true")
    rows = one.select("id", "topic", "payload", "attributes.symbol", "attributes.price", "publisher").collect()
    assert sorted(row.id for row in rows) == sorted(ids)
    assert {(int(row.payload), row.symbol, row.price) for row in rows} == {
        (number, symbols[number % 3], float(number)) for number in range(60)
    }
    both = read(table, anna, bert)
    assert sorted(row.id for row in both.collect()) == sorted(ids)
    assert both.where("attributes['symbol'] = 'IBM'").count() == 20
    asked = one.where("attributes.symbol = 'IBM' and attributes.price > 30 and topic = '.stocks'")
    assert asked.count() == 9


def test_a_stream_goes_on_where_it_was_and_its_node_keeps_what_it_has_not_had(
    table: "SparkSession", network: Nodes, tmp_path: Path
) -> None:
    anna = network.nodes["anna"]
    out, checkpoint = str(tmp_path / "rows"), str(tmp_path / "checkpoint")

    def run(**more: str) -> list[int]:
        """A query over what is there now; the rows of each of its batches."""
        asked = {"topic": ".scores", "nodes": anna.address, "name": "lake", "where": "number >= 10", **more}
        stream = table.readStream.format("gossamer").options(maxRowsPerTrigger="40", **asked).load()
        writing = stream.writeStream.format("parquet").option("checkpointLocation", checkpoint)
        query = writing.trigger(availableNow=True).start(out)
        query.awaitTermination()
        return [progress["numInputRows"] for progress in query.recentProgress if progress["numInputRows"]]

    assert run(starting="earliest") == []  # from now on the node keeps what comes
    before = network.places("anna")
    first = network.publish("anna", [publication(number, ".scores.now", number=number) for number in range(100)])
    network.wait(lambda: network.places("anna") == before + 100)
    assert run() == [40, 40, 10]
    assert [each.position for each in network.do(anna.subscriptions())] == [
        before + 90
    ]  # of the last, nobody knows yet
    second = network.publish("anna", [publication(number, ".scores", number=number) for number in range(5, 25)])
    network.wait(lambda: network.places("anna") == before + 120)
    assert run() == [15]
    assert sorted(row.id for row in table.read.parquet(out).collect()) == sorted([*first[10:], *second[5:]])
    network.do(anna.delete_subscription("lake", owner="local"))
    with pytest.raises(Exception, match="no subscription 'lake' any more"):
        run()


def test_rows_become_events_once_however_often_they_are_written(table: "SparkSession", network: Nodes) -> None:
    before = {name: network.places(name) for name in network.nodes}
    anna, bert = (network.nodes[name].address for name in ("anna", "bert"))
    rows = table.range(40).selectExpr(
        "cast(id % 35 as string) as id",  # five of them stand there twice, and are one event each
        "'.copies' as topic",
        "cast(id % 35 as string) as payload",
        "timestamp_micros(id % 35) as at",
        "named_struct('even', id % 35 % 2 = 0, 'none', cast(null as string)) as attributes",
    )
    for _ in range(2):
        rows.write.format("gossamer").option("nodes", f"{anna},{bert}").mode("append").save()
    alike = table.range(0, 4, numPartitions=2).selectExpr("'same' as payload")
    for run in ("one", "one", "two"):
        alike.write.format("gossamer").options(nodes=anna, topic=".copies.same", run=run).mode("append").save()
    network.wait(lambda: all(network.places(name) == start + 43 for name, start in before.items()))
    found = read(table, anna, bert, topic=".copies", attributes="even boolean, at bigint, none string").collect()
    told = sorted((int(row.payload), row.attributes.at, row.attributes.even) for row in found if row.topic == ".copies")
    assert told == [(number, number, number % 2 == 0) for number in range(35)]
    assert [row.payload for row in found if row.topic == ".copies.same"] == [b"same"] * 8
    assert all(row.attributes.none is None for row in found)


def test_a_stream_of_rows_is_published_once_although_its_batches_come_again(
    table: "SparkSession", network: Nodes, tmp_path: Path
) -> None:
    before, anna = network.places("anna"), network.nodes["anna"].address
    given = tmp_path / "given"
    table.range(30).selectExpr("id", "cast(id as string) as payload").write.parquet(str(given))

    def run(checkpoint: str) -> None:
        rows = table.readStream.schema("id bigint, payload string").parquet(str(given))
        writing = rows.writeStream.format("gossamer").options(nodes=anna, topic=".copies.streamed")
        writing.option("checkpointLocation", str(tmp_path / checkpoint)).trigger(
            availableNow=True
        ).start().awaitTermination()

    run("one")
    run("two")  # as if nothing was known of the first
    network.publish("anna", [publication(99, ".copies.streamed")])
    network.wait(lambda: network.places("anna") >= before + 31)
    found = read(table, anna, topic=".copies.streamed").collect()
    assert sorted(int(row.payload) for row in found) == [*range(30), 99]


def test_traces_are_a_table_too(table: "SparkSession", tmp_path: Path) -> None:
    with nodes(tmp_path) as apart:
        traced = TraceConfig(folder=tmp_path / "traces")
        apart.start("carl", subscribe=[".stocks"], trace=traced)
        apart.publish("carl", [publication(number, symbol="IBM") for number in range(5)])
        apart.wait(lambda: apart.places("carl") == 5)
    rows = table.read.format("gossamer").option("traces", str(tmp_path / "traces")).load()
    assert rows.schema == TRACE_COLUMNS
    counts = {row.kind: row["count"] for row in rows.groupBy("kind").count().collect()}
    assert counts["publish"] == counts["deliver"] == 5


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"nodes": ""}, "which nodes"),
        ({"nodes": "127.0.0.1:1", "topic": ".a.*"}, "wildcard|no letters|name the topic"),
        ({"nodes": "10.0.0.1:7400"}, "give keys"),
        ({"nodes": "127.0.0.1:1", "where": "price >"}, "expected a number"),
        ({"nodes": "127.0.0.1:1", "wher": "price > 1"}, "no option 'wher'"),
        ({"nodes": "127.0.0.1:1,127.0.0.1:1"}, "stands twice"),
        ({"config": "/nowhere.toml"}, "cannot be read"),
        ({"nodes": "127.0.0.1:1", "patience": "long"}, "whole number"),
        ({"nodes": "127.0.0.1:1", "starting": "then"}, "starting is now or earliest"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(Misuse, match=said):
        reading({"topic": ".a", "name": "n", **options}, streams=True)


@pytest.mark.parametrize(
    ("columns", "streams", "said"),
    [
        ("id string, payload string", True, "rows need a topic"),
        ("topic string, payload string", True, "rows need a column id"),
        ("topic string", False, r"option\('run', NAME\)"),
        ("topic string, id string, when date", True, "the column when is date"),
        ("topic string, id string, attributes string", True, "is a struct or a map"),
        ("topic string, id string, attributes struct<x: array<int>>", True, "attributes.x is array<int>"),
        ("topic string, id double", True, "id is string"),
        ("topic string, id string, payload double", True, "payload is binary"),
    ],
)
def test_rows_that_cannot_be_events_are_refused(table: "SparkSession", columns: str, streams: bool, said: str) -> None:
    with pytest.raises(Misuse, match=said):
        sink(writing({"nodes": "127.0.0.1:1"}), StructType.fromDDL(columns), streams)
