"""The configuration of a subtask, as submitted to a minion or a Spark worker. Needs no JVM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from controller_client.common.formats import Format
from controller_client.common.names import TableName
from controller_client.config import ControllerConfig
from controller_client.segment_tar import file_name_of
from controller_client.zookeeper_access import ZooKeeperAccess
from minion_tasks.file_ingestion.session.model import Session

__all__ = ["SUBTASK_FORMAT", "Subtask", "SubtaskCluster", "subtasks_of"]

SUBTASK_FORMAT = Format("the configuration of a subtask")


@dataclass(frozen=True)
class SubtaskCluster:
    """How the process of a subtask reaches the cluster.

    Attributes:
        controller: The controller and its credentials.
        zookeeper: ``host:port,...[/chroot]``.
        name: Name of the Helix cluster.
        access: Credentials for ZooKeeper; None: those of the environment.
    """

    controller: ControllerConfig
    zookeeper: str
    name: str
    access: ZooKeeperAccess | None = None


@dataclass(frozen=True)
class Subtask:
    """The configuration of a subtask, which reads everything else from the cluster.

    Attributes:
        table: Name with type.
        session_id: The session.
        attempt: The session's retry count when the subtask was submitted.
        groups: Numbers of its groups.
    """

    table: TableName
    session_id: str
    attempt: int
    groups: tuple[int, ...]

    def to_configs(self) -> dict[str, str]:
        """Write the configuration of a Helix task, which everybody can read: it contains no secrets."""
        return SUBTASK_FORMAT.stamp(
            {
                "tableName": self.table,
                "session": self.session_id,
                "attempt": str(self.attempt),
                "groups": ",".join(map(str, self.groups)),
            }
        )

    @classmethod
    def from_configs(cls, configs: Mapping[str, str]) -> Subtask:
        """Read the result of `to_configs`.

        Raises:
            FormatVersionError: A scheduler of a later release wrote it.
            DataError: Its session does not have the name of a session.
        """
        is_given = isinstance(configs, Mapping)
        where = f"session {configs.get('session')} of {configs.get('tableName')}" if is_given else "a subtask"
        with SUBTASK_FORMAT.reading(configs, where):
            return cls(
                table=TableName(configs["tableName"]),
                session_id=file_name_of(configs["session"]),  # names the folder of its temporary files
                attempt=int(configs["attempt"]),
                groups=tuple(int(number) for number in configs["groups"].split(",")),
            )


def subtasks_of(session: Session, tasks: Sequence[Sequence[int]]) -> list[Subtask]:
    """Create the subtasks of a session's current attempt, one for each sequence of groups."""
    return [
        Subtask(session.table, session.session_id, session.retry_count, tuple(numbers)) for numbers in tasks
    ]
