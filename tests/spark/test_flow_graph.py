"""What Spark does, as a graph."""

from pyspark.sql import SparkSession

import cepheid as cep


def test_the_flow_of_a_batch(spark: SparkSession) -> None:
    events = spark.createDataFrame([(1, "Shelf", 2)], "ts long, type string, tag long")
    query = cep.Query("PATTERN SEQ(Shelf a, Exit c) WHERE [tag] WITHIN 12 hours")
    *_, flow = query.explain(events).graphs
    assert flow.title == ("Spark batch",)
    assert [node.lines for node in flow.nodes] == [
        ("DataFrame", "read by Spark"),
        (
            "in the JVM",
            "type IN ('Shelf', 'Exit')",
            "tag IS NOT NULL, because of [tag]",
            "columns: ts, type, tag",
        ),
        ("shuffle by tag",),
        ("engine, in Python workers", "events by ts"),
        ("matches",),
    ]


def test_the_flow_of_a_stream(spark: SparkSession) -> None:
    events = spark.readStream.format("rate").load().selectExpr("timestamp AS ts", "'A' AS type", "value AS id")
    query = cep.Query("PATTERN SEQ(A a, A b) WHERE [id] WITHIN 1 minute")
    *_, flow = query.explain(events.withWatermark("ts", "1 minute"), buckets=3).graphs
    assert flow.nodes[2].lines == ("shuffle by id", "state in 3 buckets")
