"""Shoplifters in a Kafka topic: readings in, thefts out, both as JSON.

pip install '.[spark]'       (in a clone; needs Java 17 or newer)
python examples/kafka.py --servers localhost:9092 --fill      # puts the readings of the demo into the topic, once
python examples/kafka.py --servers localhost:9092             # goes on until Ctrl-C
python examples/kafka.py --servers localhost:9092 --once      # all that is there, then ends

Spark fetches its Kafka connector from Maven at the first start. On a cluster give it to spark-submit instead:

spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0 examples/kafka.py --servers …
"""

import argparse
import warnings
from importlib.resources import files

import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import cepheid as cep

THEFTS = cep.Query("""
    PATTERN SEQ(Shelf a, !(Register b), Exit c)
    WHERE   [tag_id]
    WITHIN  12 hours
    RETURN  a.tag_id AS tag, a.reader AS shelf, c.reader AS door
""")

READING = "ts timestamp, type string, tag_id string, reader string"


def readings(records: DataFrame) -> DataFrame:
    """The readings that records of Kafka hold: JSON such as {"ts": "2026-03-14T11:20:13Z", "type": "Shelf", …}."""
    read = F.from_json(F.col("value").cast("string"), READING)
    return records.select(read.alias("reading")).select("reading.*").where("ts IS NOT NULL")


def records(matches: DataFrame) -> DataFrame:
    """Matches as records for Kafka: the tag as the key, the match as JSON."""
    return matches.select(F.col("tag").alias("key"), F.to_json(F.struct(*matches.columns)).alias("value"))


def main() -> None:
    """Read from one topic, write to another."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--servers", required=True, help="brokers, such as localhost:9092")
    options.add_argument("--topic", default="readings")
    options.add_argument("--to", default="thefts", help="the topic for the matches")
    options.add_argument("--checkpoint", default="kafka-checkpoint")
    options.add_argument("--fill", action="store_true", help="only put the readings of the demo into the topic")
    options.add_argument("--once", action="store_true", help="end when all that is there is read")
    given = options.parse_args()
    warnings.filterwarnings("ignore", "PySpark does not yet fully support", FutureWarning)
    connector = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
    builder = SparkSession.builder.appName("shoplifting in Kafka").config("spark.jars.packages", connector)
    spark = cep.spark.configure(builder.config("spark.sql.session.timeZone", "UTC")).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    kafka = {"kafka.bootstrap.servers": given.servers}

    if given.fill:
        demo = spark.read.schema(READING).csv(str(files("cepheid") / "demo" / "readings.csv"), header=True)
        values = demo.select(F.col("tag_id").alias("key"), F.to_json(F.struct(*demo.columns)).alias("value"))
        values.write.format("kafka").options(**kafka).option("topic", given.topic).save()
        return

    stream = spark.readStream.format("kafka").options(**kafka, subscribe=given.topic, startingOffsets="earliest").load()
    # Kafka keeps the order of a partition only, and readers are late at times: wait a minute for the others.
    thefts = THEFTS.match(readings(stream).withWatermark("ts", "1 minute"))
    # Spark writes to Kafka at least once: after a crash a record can be there twice, with the same key and value.
    writer = records(thefts).writeStream.format("kafka").options(**kafka).option("topic", given.to)
    writer = writer.option("checkpointLocation", given.checkpoint)
    (writer.trigger(availableNow=True) if given.once else writer).start().awaitTermination()


if __name__ == "__main__":
    main()
