"""Values of a sealed segment's raw columns, at the positions where Pinot writes and reads them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from controller_client.errors import DataError, UnsupportedError
from server_hooks.upsert.sealed_rows import map_column
from tests.contract.segment_child import SegmentChild
from tests.contract.tables import schema_of, table_config

pytestmark = [pytest.mark.jvm, pytest.mark.every_pinot]

# More than two chunks of such a column, the last one partly filled.
_ROWS = 2_345


def test_values_written_by_pinot_are_found_and_pinot_reads_ours(child: SegmentChild) -> None:
    names = ("first", "second")
    config = table_config(
        indexing={"noDictionaryColumns": [*names, "packed"]},
        fieldConfigList=[
            *({"name": n, "encodingType": "RAW", "compressionCodec": "PASS_THROUGH"} for n in names),
            {"name": "packed", "encodingType": "RAW", "compressionCodec": "SNAPPY"},
        ],
    )
    columns = {
        "first": [-1] * _ROWS,
        "second": [10**12 + 7 * row for row in range(_ROWS)],
        "packed": [row % 3 for row in range(_ROWS)],
        "coded": [row % 5 for row in range(_ROWS)],
    }
    schema = schema_of(dict.fromkeys(columns, "LONG"))
    built = child.build(config, schema, pa.table(columns), "auto", name="plain", read_back=True)
    assert "error" not in built, built
    (folder,) = (child.work_dir / "plain.unpacked").iterdir()

    first = map_column(folder, "first", mode="r+")
    assert first.tolist() == columns["first"]
    assert map_column(folder, "second", mode="r").tolist() == columns["second"]
    places = [0, 999, 1000, 1999, 2000, _ROWS - 1]
    first[places] = [5 * place for place in places]
    first.flush()
    read = child.ask({"action": "read_folder", "folder": str(folder)})["read"]
    expected = [5 * row if row in places else -1 for row in range(_ROWS)]
    assert [(row["first"], row["second"]) for row in read] == list(
        zip(expected, columns["second"], strict=True)
    )

    with pytest.raises(UnsupportedError, match="compression 1"):
        map_column(folder, "packed", mode="r")
    with pytest.raises(UnsupportedError, match="coded is stored in an unsupported format"):
        map_column(folder, "coded", mode="r")
    with pytest.raises(DataError, match="no raw column none"):
        map_column(folder, "none", mode="r")
