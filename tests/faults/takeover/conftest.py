from tests.integration.file_ingestion.conftest import (
    ingestion_table,
    shared_folder,
)
from tests.integration.upsert.coordinator.conftest import make_table, spark

__all__ = ["ingestion_table", "make_table", "shared_folder", "spark"]
