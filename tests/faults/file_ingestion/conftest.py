from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest

from controller_client.zookeeper import PropertyStore
from tests.faults.file_ingestion.place import Place, S3Source
from tests.faults.file_ingestion.runs import Runners
from tests.faults.file_ingestion.table import rows
from tests.integration.file_ingestion.conftest import ingestion_table, new_table, shared_folder, store
from tests.support.cluster import PinotCluster
from tests.support.faulty_http import FaultyHttp
from tests.support.faulty_s3 import FaultyS3
from tests.support.s3 import S3Access
from tests.support.scheduling import DISTURBS, PART
from tests.support.tiers import FULL

__all__ = ["ingestion_table", "shared_folder", "store"]

PlaceOf = Callable[[str], Place]


@pytest.fixture(scope="package")
def controller_proxy(pinot: PinotCluster) -> Iterator[FaultyHttp]:
    with FaultyHttp(pinot.controller_url) as proxy:
        yield proxy


@pytest.fixture(scope="package")
def runners(
    pinot: PinotCluster, controller_proxy: FaultyHttp, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Runners]:
    found = Runners(pinot, controller_proxy.url, tmp_path_factory.mktemp("runs"))
    yield found
    found.close()


@pytest.fixture(scope="package")
def place_of(
    pinot: PinotCluster, s3: S3Access, controller_proxy: FaultyHttp, runners: Runners
) -> Iterator[PlaceOf]:
    """The table of a mode, created for its first row and after a failed one; all are dropped at the end."""
    places: dict[str, Place] = {}
    bucket = f"faults-{uuid.uuid4().hex[:12]}"
    with ExitStack() as at_end:
        s3_client = at_end.enter_context(closing(s3.client()))
        s3_client.create_bucket(Bucket=bucket)
        store = at_end.enter_context(PropertyStore(pinot.zookeeper_address, pinot.cluster_name))
        s3_proxy = at_end.enter_context(FaultyS3(s3))

        def place_of(mode: str) -> Place:
            found = places.get(mode)
            if found is None or not found.is_sound:
                table = at_end.enter_context(new_table(pinot))
                source = S3Source(s3_client, bucket, table.name, s3_proxy)
                found = places[mode] = Place(
                    mode, table, pinot, store, source, controller_proxy, s3_proxy, bucket
                )
                found.make_ready(runners)
            return found

        yield place_of


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "row" in metafunc.fixturenames:
        everything = [
            pytest.param(
                row,
                id=row.id,
                marks=[
                    PART(row.mode),
                    *([] if row.by_default else [FULL]),
                    *([DISTURBS] if row.disturbs else []),
                ],
            )
            for row in rows()
        ]
        metafunc.parametrize("row", everything)
