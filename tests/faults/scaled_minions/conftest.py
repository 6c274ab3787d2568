from tests.integration.file_ingestion.conftest import ingestion_table

__all__ = ["ingestion_table"]
