from tests.integration.file_ingestion.conftest import (
    finished_jobs_are_forgotten,
    ingestion_table,
    shared_folder,
)
from tests.integration.upsert.coordinator.conftest import make_table, spark

__all__ = ["finished_jobs_are_forgotten", "ingestion_table", "make_table", "shared_folder", "spark"]
