"""Batches after the first one: their columns must be those of the first."""

from __future__ import annotations

import pyarrow as pa

from cepheid.engine.session.fits import check_fits
from cepheid.errors import InputError


def completed(table: pa.Table, wanted: pa.Schema) -> pa.Table:
    """Columns that no row of a list of dicts has, as NULL."""
    for field in wanted:
        if table.num_columns and field.name not in table.column_names:
            table = table.append_column(field, pa.nulls(table.num_rows, field.type))
    return table


def with_columns_of(table: pa.Table, wanted: pa.Schema) -> pa.Table:
    """A table with the columns of the first one, in their order."""
    if set(table.column_names) != set(wanted.names):
        missing = sorted(set(wanted.names) - set(table.column_names))
        extra = sorted(set(table.column_names) - set(wanted.names))
        differences = [f"lacks {', '.join(missing)}"] * bool(missing) + [f"adds {', '.join(extra)}"] * bool(extra)
        remedy = f"give every batch the columns of the first: {', '.join(wanted.names)}"
        raise InputError("CEP409", f"the batch {' and '.join(differences)}", remedy)
    return table.select(wanted.names)


def with_types_of(table: pa.Table, wanted: pa.Schema) -> pa.Table:
    """A table with the types of the first one, whose columns it has."""
    for field in wanted:
        check_fits(field.name, field.type, table.schema.field(field.name).type)
    try:
        return table.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        remedy = "give every batch the column types of the first"
        raise InputError("CEP409", f"the batch does not fit the first one: {error}", remedy) from None
