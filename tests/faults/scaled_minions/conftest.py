from tests.integration.file_ingestion.conftest import ingestion_table, store

__all__ = ["ingestion_table", "store"]
