"""What this package uses of Airflow, with types.

Airflow brings more than a hundred packages, some in other versions than this project is developed with. So it
is in an environment of its own (``tests/airflow``), and type checkers know of it what is declared here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = [
    "AirflowException",
    "AirflowFailException",
    "BaseHook",
    "BaseOperator",
    "BaseSensorOperator",
    "BaseTrigger",
    "Connection",
    "Context",
    "EmptyOperator",
    "TaskGroup",
    "TriggerEvent",
]

if TYPE_CHECKING:
    import logging
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
    from datetime import timedelta
    from typing import Any, ClassVar, NoReturn, Self

    class AirflowException(Exception):  # noqa: N818  # Airflow's name
        """A task failed."""

    class AirflowFailException(AirflowException):
        """A task failed, and another try would not do better."""

    class Connection:
        """Where something is, with credentials."""

        conn_id: str
        host: str | None
        port: int | None
        schema: str | None
        login: str | None
        password: str | None

        @property
        def extra_dejson(self) -> dict[str, Any]:
            """All else."""

    class BaseHook:
        """Access by a connection."""

        log: logging.Logger

        def __init__(self, **kwargs: Any) -> None: ...

        @classmethod
        def get_connection(cls, conn_id: str) -> Connection:
            """Read a connection."""

        @classmethod
        async def aget_connection(cls, conn_id: str) -> Connection:
            """Read a connection, in an event loop."""

    class TaskInstance:
        """One try of a task."""

        dag_id: str
        run_id: str
        task_id: str
        map_index: int | None
        try_number: int

    Context = Mapping[str, Any]

    class TriggerEvent:
        """What a trigger ends with."""

        payload: Any

        def __init__(self, payload: Any) -> None: ...

    class BaseTrigger:
        """Waits in the triggerer."""

        log: logging.Logger

        def __init__(self) -> None: ...

        def serialize(self) -> tuple[str, dict[str, Any]]:
            """Tell how to make it again."""

        def run(self) -> AsyncIterator[TriggerEvent]:
            """Wait."""

        async def on_kill(self) -> None:
            """Do what is to be done when a user ends the task."""

    class Node:
        """A task or a group of tasks."""

        def __init__(self, **kwargs: Any) -> None: ...

        def __rshift__(self, other: Any) -> Any: ...

    class BaseOperator(Node):
        """A task."""

        template_fields: ClassVar[Sequence[str]]
        ui_color: ClassVar[str]
        log: logging.Logger
        task_id: str
        dag_id: str

        def execute(self, context: Context) -> Any:
            """Do what the task is for."""

        def resume_execution(
            self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context
        ) -> Any:
            """Go on after a trigger."""

        def defer(
            self,
            *,
            trigger: BaseTrigger,
            method_name: str,
            kwargs: dict[str, Any] | None = None,
            timeout: timedelta | None = None,
        ) -> NoReturn:
            """Wait for a trigger."""

        def on_kill(self) -> None:
            """Do what is to be done when the task is ended from outside."""

        def as_setup(self) -> Self:
            """Make it a setup task."""

        def as_teardown(self, *, setups: Iterable[BaseOperator] | BaseOperator) -> Self:
            """Make it the teardown of setup tasks."""

        def __enter__(self) -> Self: ...

        def __exit__(self, *error: object) -> None: ...

    class EmptyOperator(BaseOperator):
        """A task that is done at once."""

    class BaseSensorOperator(BaseOperator):
        """A task that waits."""

        mode: str
        timeout: float
        poke_interval: float

        def poke(self, context: Context) -> Any:
            """Look once."""

    class TaskGroup(Node):
        """A group of tasks."""

        def __enter__(self) -> Self: ...

        def __exit__(self, *error: object) -> None: ...
else:
    from airflow.providers.standard.operators.empty import EmptyOperator
    from airflow.sdk import BaseHook, BaseOperator, BaseSensorOperator, Connection, Context, TaskGroup
    from airflow.sdk.exceptions import AirflowException, AirflowFailException
    from airflow.triggers.base import BaseTrigger, TriggerEvent
