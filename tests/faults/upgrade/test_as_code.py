"""Objects that a later release applied as code: this one refuses them, and adopts them after a rollback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from controller_client.as_code.inventory import INVENTORY_FORMAT
from controller_client.errors import NotFoundError
from controller_client.zookeeper import PropertyStore
from tests.faults.upgrade.place import assert_refused, delete_znode, pinotctl, znodes
from tests.support.cluster import PinotCluster
from tests.support.releases import THIS, Release
from tests.support.scheduling import DISTURBS
from tests.support.tiers import FULL

pytestmark = [pytest.mark.cluster, FULL, DISTURBS]  # records of a later format refuse the applies of others


@pytest.fixture
def records(store: PropertyStore, unique_table: str) -> Iterator[str]:
    """The path of an owner's records, which are deleted at the end, since they make other applies fail."""
    path = f"/PINOT_PLUGINS/as_code/{unique_table}"
    yield path
    with suppress(NotFoundError):
        store.delete(path, recursive=True)


def test_applied_objects(
    pinot: PinotCluster,
    store: PropertyStore,
    later: Release,
    unique_table: str,
    records: str,
    tmp_path: Path,
) -> None:
    schema = {
        "schemaName": unique_table,
        "dimensionFieldSpecs": [{"name": "id", "dataType": "INT"}],
    }
    (tmp_path / "schemas").mkdir()
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump({"owner": unique_table}))
    (tmp_path / "schemas" / f"{unique_table}.yaml").write_text(yaml.safe_dump(schema))
    folder, where = str(tmp_path), f"{records}/schemas:{unique_table}"

    applied = pinotctl(later, pinot, "apply", folder, "--yes")
    assert applied.code == 0, applied
    before = znodes(store, records)
    for words in (("diff", folder), ("apply", folder, "--yes"), ("drift", folder)):
        assert_refused(pinotctl(THIS, pinot, *words), INVENTORY_FORMAT, where)
    assert znodes(store, records) == before
    assert "Nothing to do" in pinotctl(later, pinot, "apply", folder, "--yes").err

    delete_znode(pinot, where)
    adopted = pinotctl(THIS, pinot, "apply", folder, "--yes")
    assert (adopted.code, "Nothing to do" in adopted.err) == (0, True), adopted
    found = store.get(where)
    assert found is not None
    assert found.record.simple_fields["format"] == str(INVENTORY_FORMAT.version)
