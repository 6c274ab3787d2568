"""FileIngestionTask on Spark: the engine ``spark``, which runs a session's subtasks as one Spark job.

``pinotctl task run`` and ``pinotctl scheduler`` use it for tables whose parameter ``engine`` is ``spark``. To
use an existing Spark session, e.g. in a notebook::

    config, clock = ControllerConfig(url), SystemClock()
    with ControllerClient(config) as client, PropertyStore(zookeeper, cluster_name) as store:
        engine = SparkEngine(client, store, clock, spark)
        report = run_task(RunTools(client, store, engine, clock), "flights")
"""

from spark_connectors.file_ingestion.engine import SparkEngine
from spark_connectors.file_ingestion.opening import open_engine

__all__ = ["SparkEngine", "open_engine"]
