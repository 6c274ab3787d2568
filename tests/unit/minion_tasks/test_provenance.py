from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.errors import DataError
from controller_client.filestore import FileInfo
from minion_tasks.file_ingestion.plan.provenance import Provenance

infos = st.builds(FileInfo, st.text(min_size=1), st.integers(0), st.integers(0), st.none() | st.text())


@given(st.text(), st.lists(infos, max_size=5))
def test_round_trip_without_commas(session: str, inputs: list[FileInfo]) -> None:
    before = Provenance(session, tuple(inputs))
    custom = before.to_custom_map()
    assert Provenance.from_custom_map(custom, segment="s") == before
    # Pinot's metadata file would split a value at a comma.
    assert "," not in custom["pinotPlugins.inputs"]


def test_a_foreign_segment_has_no_provenance() -> None:
    assert Provenance.from_custom_map({"input.data.file.uri": "x"}, segment="s") is None


@pytest.mark.parametrize("value", ["", "%%%", "aGVsbG8=", "eJyLBgAAXQBd"])
def test_a_corrupt_entry_names_the_segment(value: str) -> None:
    with pytest.raises(DataError, match="segment_7"):
        Provenance.from_custom_map({"pinotPlugins.inputs": value}, segment="segment_7")
