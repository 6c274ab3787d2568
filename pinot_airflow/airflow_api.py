"""The parts of Airflow that this package uses, with types.

Airflow depends on more than a hundred packages, some in versions that conflict with this project's. Therefore
it is installed in a separate environment (``tests/airflow``), and type checkers use the declarations below.
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
    "mask_secret",
]

if TYPE_CHECKING:
    import logging
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
    from datetime import timedelta
    from typing import Any, ClassVar, NoReturn, Self

    class AirflowException(Exception):  # noqa: N818  # Airflow's name
        """A task failed."""

    class AirflowFailException(AirflowException):
        """A task failed, and a retry would not help."""

    class Connection:
        """The address and credentials of a service."""

        conn_id: str
        host: str | None
        port: int | None
        schema: str | None
        login: str | None
        password: str | None

        @property
        def extra_dejson(self) -> dict[str, Any]:
            """Further settings."""

    class BaseHook:
        """Access to a service by a connection."""

        log: logging.Logger

        def __init__(self, **kwargs: Any) -> None: ...

        @classmethod
        def get_connection(cls, conn_id: str) -> Connection:
            """Read a connection."""

        @classmethod
        async def aget_connection(cls, conn_id: str) -> Connection:
            """Read a connection in an event loop."""

    class TaskInstance:
        """One try of a task."""

        dag_id: str
        run_id: str
        task_id: str
        map_index: int | None
        try_number: int

    Context = Mapping[str, Any]

    def mask_secret(secret: str) -> None:
        """Mask a value in the logs of this process."""

    class TriggerEvent:
        """The event with which a trigger ends."""

        payload: Any

        def __init__(self, payload: Any) -> None: ...

    class BaseTrigger:
        """Waits in the triggerer."""

        log: logging.Logger

        def __init__(self) -> None: ...

        def serialize(self) -> tuple[str, dict[str, Any]]:
            """Return how to create the trigger again."""

        def run(self) -> AsyncIterator[TriggerEvent]:
            """Wait."""

        async def on_kill(self) -> None:
            """Clean up when a user stops the task."""

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
            """Run the task."""

        def resume_execution(
            self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context
        ) -> Any:
            """Continue after a trigger."""

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
            """Clean up when the task is stopped."""

        def as_setup(self) -> Self:
            """Make it a setup task."""

        def as_teardown(self, *, setups: Iterable[BaseOperator] | BaseOperator) -> Self:
            """Make it the teardown task of setup tasks."""

        def __enter__(self) -> Self: ...

        def __exit__(self, *error: object) -> None: ...

    class EmptyOperator(BaseOperator):
        """A task that does nothing."""

    class BaseSensorOperator(BaseOperator):
        """A task that waits."""

        mode: str
        timeout: float
        poke_interval: float

        def poke(self, context: Context) -> Any:
            """Check the condition once."""

    class TaskGroup(Node):
        """A group of tasks."""

        def __enter__(self) -> Self: ...

        def __exit__(self, *error: object) -> None: ...
else:
    from airflow.providers.standard.operators.empty import EmptyOperator
    from airflow.sdk import BaseHook, BaseOperator, BaseSensorOperator, Connection, Context, TaskGroup
    from airflow.sdk.exceptions import AirflowException, AirflowFailException
    from airflow.sdk.log import mask_secret
    from airflow.triggers.base import BaseTrigger, TriggerEvent
