"""The metrics of a stream, scraped as Prometheus does."""

from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from test_stream import BEGIN, PAIR, Stream, event

import cepheid as cep
from cepheid.errors import UsageError


def test_scraped(spark: Any, tmp_path: Path) -> None:
    stream = Stream(spark, tmp_path)
    stream.add([event(0, "A"), event(1, "B")], [event(50, "A"), event(51, "C")], [event(39, "B"), event(100, "A")])
    exporter = cep.spark.prometheus(spark, port=0, address="127.0.0.1")
    try:
        with pytest.raises(UsageError, match="choose another port"):
            cep.spark.prometheus(spark, port=exporter.port, address="127.0.0.1")
        writer = (
            cep.Query(PAIR).match(stream.events()).writeStream.queryName("pairs").foreachBatch(lambda b, _: b.count())
        )
        running = writer.option("checkpointLocation", stream.checkpoint).trigger(availableNow=True).start()
        assert running.awaitTermination(300)
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
        with urlopen(f"http://127.0.0.1:{exporter.port}/metrics") as page:
            found = {
                line.split("{")[0]: float(line.rsplit(" ", 1)[1])
                for line in page.read().decode().splitlines()
                if 'query="pairs"' in line
            }
    finally:
        exporter.close()
    assert found["cepheid_batches_total"] == 4
    assert found["cepheid_rows_total"] == 6
    assert found["cepheid_events_total"] == 4
    assert found["cepheid_matches_total"] == 1
    assert found["cepheid_late_total"] == 1
    assert found["cepheid_batch"] == 3
    assert found["cepheid_watermark_seconds"] == BEGIN.timestamp() + 90
