"""The engine ``spark`` of FileIngestionTask."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from controller_client.client import ControllerClient
from controller_client.clock import Clock
from controller_client.errors import SetupError
from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.engine.subtask import SubtaskCluster, subtasks_of
from minion_tasks.file_ingestion.params.table_params import TASK_TYPE, FileIngestionParams
from minion_tasks.file_ingestion.session.model import Session
from spark_connectors.faults import in_short
from spark_connectors.file_ingestion.job import SparkJob, watch
from spark_connectors.file_ingestion.worker import RunSubtask
from spark_connectors.session import task_slots

__all__ = ["SparkEngine"]

logger = logging.getLogger(__name__)

_NAME = "spark"
_JOBS_REMEMBERED = 100


class SparkEngine:
    """Runs subtasks as tasks of one Spark job; thread-safe.

    A job ends with the driver that started it. Files staged by its tasks are not lost: the next run resumes
    the session.

    Args:
        client: The controller; workers receive its address and credentials.
        store: ZooKeeper; workers receive its address and credentials.
        clock: The clock, for pauses between polls.
        spark: The session that runs the jobs; not a Spark Connect session.
        poll_interval_s: Seconds between polls of the state.
    """

    def __init__(
        self,
        client: ControllerClient,
        store: PropertyStore,
        clock: Clock,
        spark: SparkSession,
        *,
        poll_interval_s: float = 0.25,
    ) -> None:
        self._cluster = SubtaskCluster(
            client.config, store.zookeeper_address, store.cluster_name, store.access
        )
        self._clock = clock
        self._context = spark.sparkContext
        self._poll_interval_s = poll_interval_s
        self._jobs: dict[str, SparkJob] = {}
        self._lock = threading.Lock()

    def name_of(self, _params: FileIngestionParams) -> str:
        """Return ``spark``."""
        return "spark"

    def slots(self, _params: FileIngestionParams) -> int:
        """Return how many tasks Spark can run in parallel, or will once all its executors have registered.

        Raises:
            SetupError: Spark's driver has ended.
        """
        try:
            conf, cores = dict(self._context.getConf().getAll()), self._context.defaultParallelism
        except (Py4JError, OSError) as error:
            raise SetupError(
                f"Spark's driver does not answer: {in_short(error)}", remedy="restart this process"
            ) from error
        return task_slots(conf, cores)

    def submit(self, session: Session, tasks: Sequence[Sequence[int]], params: FileIngestionParams) -> str:
        """Start one Spark job, with a task for each sequence of groups."""
        name = f"{_NAME}:{uuid.uuid4()}"
        job = SparkJob(
            self._context,
            name,
            f"{TASK_TYPE} of {session.table}, session {session.session_id}",
            subtasks_of(session, tasks),
            RunSubtask(self._cluster, params.task_timeout_s),
        )
        with self._lock:
            self._jobs[name] = job
            for old in list(self._jobs)[:-_JOBS_REMEMBERED]:
                if self._jobs[old].is_over:
                    del self._jobs[old]
        job.start()
        logger.info("session %s: %d subtasks submitted as %s", session.session_id, len(tasks), name)
        return name

    def wait(self, task_name: str, params: FileIngestionParams, on_poll: Callable[[], bool]) -> None:
        """Wait for the job; a job of another process has ended with that process."""
        job = self._jobs.get(task_name)
        if job is not None:
            watch(
                job,
                self._clock,
                on_poll,
                task_timeout_s=params.task_timeout_s,
                poll_interval_s=self._poll_interval_s,
            )

    def explain(self, task_name: str) -> Mapping[int, str]:
        """Return how the subtask of each group ended."""
        job = self._jobs.get(task_name)
        return {} if job is None else job.explain()

    def cancel(self, task_name: str) -> None:
        """Cancel the job; Spark kills the workers of its tasks."""
        job = self._jobs.get(task_name)
        if job is not None:
            job.cancel()
