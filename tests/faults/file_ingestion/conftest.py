from tests.integration.file_ingestion.conftest import ingestion_table, shared_folder

__all__ = ["ingestion_table", "shared_folder"]
