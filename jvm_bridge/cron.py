"""Quartz cron expressions, parsed by Quartz itself, so that they mean the same as in Pinot."""

from __future__ import annotations

from controller_client.errors import ConfigError
from jvm_bridge.jvm import start_jvm

__all__ = ["CronSchedule"]


class CronSchedule:
    """A cron expression of six or seven fields (seconds first), in the process' time zone.

    Args:
        expression: E.g. ``0 */10 * * * ?``: every ten minutes.

    Raises:
        ConfigError: It is invalid; the message has Quartz's reason.
    """

    def __init__(self, expression: str) -> None:
        start_jvm()
        import jpype

        from jvm_bridge.java_errors import JAVA_ERRORS, message_of

        self.expression = expression
        try:
            self._quartz = jpype.JClass("org.quartz.CronExpression")(expression)
        except JAVA_ERRORS as error:
            raise ConfigError(
                f"{expression!r} is not a cron expression: {message_of(error)}",
                expected="Quartz format: seconds minutes hours day-of-month month day-of-week [year], "
                "e.g. '0 */10 * * * ?'",
            ) from error

    def next_after(self, epoch_s: float) -> float | None:
        """Return the next time it fires after `epoch_s` (seconds since the epoch), or None if never again."""
        import jpype

        after = jpype.JClass("java.util.Date")(jpype.JLong(int(epoch_s * 1000)))
        following = self._quartz.getNextValidTimeAfter(after)
        return None if following is None else int(following.getTime()) / 1000
