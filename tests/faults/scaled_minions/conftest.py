from tests.integration.file_ingestion.conftest import finished_jobs_are_forgotten, ingestion_table

__all__ = ["finished_jobs_are_forgotten", "ingestion_table"]
