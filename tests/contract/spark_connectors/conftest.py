from __future__ import annotations

from tests.integration.spark_connectors.conftest import client, make_table, spark

__all__ = ["client", "make_table", "spark"]
