from tests.integration.consumption.conftest import make_stream_table, store

__all__ = ["make_stream_table", "store"]
