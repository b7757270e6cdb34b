"""The control stream of many queries on its way to all buckets."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as st

from cepheid.api.hosting import TEMPLATE, Rereading
from cepheid.engine.many.rules import TEXT
from cepheid.errors import UsageError, did_you_mean
from cepheid.spark.many.changes import ACTION, AT
from cepheid.spark.names import column_named, rename_for_python
from cepheid.spark.packing import write
from cepheid.spark.schemas import spark_schema
from cepheid.spark.slices import ticks_of
from cepheid.spark.stream.blobs import PACKED
from cepheid.spark.stream.buckets import CONTROL, slot
from cepheid.spark.stream.control_rows import TIMES, check_is_stream, check_no_watermark
from cepheid.spark.worker import Batches

_WHOLE = (st.ByteType, st.ShortType, st.IntegerType, st.LongType)


def check_control(control: DataFrame, reading: Rereading, ids: pa.DataType) -> None:
    """Refuse what is no stream of rules that come and go. No job runs."""
    columns = [f"{reading.id} string", f"{ACTION} string", f"{AT} timestamp"]
    columns += [f"{TEMPLATE} string"] * reading.named
    check_is_stream(control, f"{', '.join(columns)}, {'text string' if reading.listed else '…'}")
    wanted = [reading.id, ACTION, AT, *([TEMPLATE] * reading.named), *([TEXT] * reading.listed)]
    for name in wanted:
        if name not in control.columns:
            problem = f"the control stream lacks {name}"
            remedy = (
                f"{did_you_mean(name, control.columns, 'columns')}; it has the columns of the rules, {ACTION} and {AT}"
            )
            raise UsageError("CEP912", problem, remedy)
        if control.columns.count(name) > 1:
            raise UsageError("CEP912", f"the control stream has {name} twice", "select its columns")
        kind = control.schema[name].dataType
        whole = name == reading.id and pa.types.is_integer(ids)
        fits = TIMES if name == AT else _WHOLE if whole else (st.StringType,)
        if not isinstance(kind, fits):
            asked = "timestamp" if name == AT else "bigint" if whole else "string"
            message = f"column '{name}' of the control stream is {kind.simpleString()}, not {asked}"
            raise UsageError("CEP912", message, f"cast it: withColumn('{name}', col('{name}').cast('{asked}'))")
    check_no_watermark(control)


def control_blobs(control: DataFrame, events: DataFrame, time: str, columns: pa.Schema, buckets: int) -> DataFrame:
    """The rows of the control stream once for every slot, as blobs of no events.

    columns: those of the control stream, with times in ticks of the events.
    """
    rows = control.withColumn(AT, column_named(AT).cast(events.schema[time].dataType))
    rows = rows.withColumn(AT, ticks_of(rows, AT))
    return rename_for_python(rows).mapInArrow(_packer(columns, range(buckets)), spark_schema(PACKED))


def _packer(columns: pa.Schema, buckets: Sequence[int]) -> Callable[[Batches], Batches]:
    def cepheid_pack_rules(batches: Batches) -> Batches:
        slots = [CONTROL, *map(slot, buckets)]
        for batch in batches:
            if batch.num_rows:
                blob = write(pa.Table.from_batches([batch]).rename_columns(columns.names).cast(columns))
                values = {"slot": slots, "blob": [blob] * len(slots)}
                arrays = [pa.array(values.get(f.name, [0] * len(slots)), f.type) for f in PACKED]
                yield pa.record_batch(arrays, schema=PACKED)

    return cepheid_pack_rules
