"""The metrics of a stream, written into its checkpoint for the studio."""

import json
from pathlib import Path
from typing import Any

from test_stream import PAIR, Stream, event

import cepheid as cep
from cepheid.studio.checkpoint import watched


def test_recorded(spark: Any, tmp_path: Path) -> None:
    stream = Stream(spark, tmp_path)
    stream.add([event(0, "A"), event(1, "B")], [event(50, "A"), event(51, "C")], [event(39, "B"), event(100, "A")])
    recorder = cep.spark.record(spark, stream.checkpoint)
    try:
        writer = cep.Query(PAIR).match(stream.events()).writeStream.foreachBatch(lambda batch, _: batch.count())
        running = writer.option("checkpointLocation", stream.checkpoint).trigger(availableNow=True).start()
        assert running.awaitTermination(300)
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    finally:
        recorder.close()
    written = json.loads(Path(stream.checkpoint, "_cepheid", "progress.json").read_text())
    assert (written["status"], [batch["number"] for batch in written["batches"]]) == ("ended", [0, 1, 2, 3])
    found = watched(Path(stream.checkpoint), None)
    assert found["status"] == "ended"
    assert found["told"].startswith("It ended ")
    figures = {name: found["recorded"][name] for name in ("events", "matches", "late")}
    assert figures == {"events": 4, "matches": 1, "late": 1}
    assert [batch["number"] for batch in found["batches"]] == [0, 1, 2, 3]
    assert all(batch["ended"] is not None for batch in found["batches"])
    assert found["state_bytes"] > 0
