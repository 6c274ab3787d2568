"""The shell of ``pinotctl query``: statements typed on a terminal, one after another."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from controller_client.clock import Clock, SystemClock
from controller_client.common.extras import missing_module
from controller_client.common.redaction import mask_text
from controller_client.common.sql_text import statements
from controller_client.common.text import did_you_mean
from controller_client.errors import ConfigError, PinotPluginError
from pinotctl.context import CliContext
from pinotctl.output import OutputFormat
from pinotctl.querying.names import Names
from pinotctl.querying.running import QueryRunner, QuerySettings
from pinotctl.querying.writing import check_target, note_of, write

__all__ = ["HELPERS", "Shell", "run_shell"]

HELPERS = {
    "\\d": "List the tables; \\d TABLE lists the columns of a table.",
    "\\x": "Turn vertical output (one line for each value) on or off.",
    "\\timing": "Turn the time that a statement took here on or off.",
    "\\?": "Show this list.",
    "\\q": "Leave, as Ctrl-D does.",
}


def run_shell(cli: CliContext, settings: QuerySettings, params: Mapping[str, Any]) -> None:
    """Prompt for statements and run them, until the user leaves.

    Raises:
        ConfigError: There is no terminal.
        SetupError: prompt_toolkit is not installed (extra ``shell``).
    """
    check_target(cli.out.format, 1, None)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigError("the shell needs a terminal", expected="SQL, '-' to read it from stdin, or --file")
    try:
        from pinotctl.querying.prompt import history_path, make_prompt
    except ModuleNotFoundError as error:
        raise missing_module(error, "the shell of 'pinotctl query'", ["shell"]) from error

    names = Names(cli)
    prompt = make_prompt(names, history_path(os.environ))
    cli.out.note("Statements end with a semicolon; \\? lists the helpers, Ctrl-D leaves.")
    with QueryRunner(cli, settings) as runner, _on_ctrl_c(signal.SIG_IGN):
        shell = Shell(cli, runner, names, params)
        while True:
            try:
                text = prompt.prompt()
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            if not shell.run(text):
                return


@contextmanager
def _on_ctrl_c(handler: Any) -> Iterator[None]:
    """Set the handler of Ctrl-C for the block.

    While a line is edited, Ctrl-C is a key like any other. Between two lines it must do nothing: there is
    nothing to interrupt, and it could reach the editor while it is being set up.
    """
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class Shell:
    """Runs what was typed.

    Args:
        cli: The context of the run.
        runner: Runs statements.
        names: Tables and columns.
        params: Values of placeholders, for the statements that use them.
        clock: The clock.
    """

    def __init__(
        self,
        cli: CliContext,
        runner: QueryRunner,
        names: Names,
        params: Mapping[str, Any],
        *,
        clock: Clock | None = None,
    ) -> None:
        self._cli = cli
        self._runner = runner
        self._names = names
        self._params = params
        self._clock: Clock = clock or SystemClock()
        self._usual = cli.out.format
        self._timing = True

    def run(self, text: str) -> bool:
        """Run statements or a helper; errors become messages.

        Returns:
            Whether the shell continues.
        """
        try:
            with _on_ctrl_c(signal.default_int_handler):
                if text.lstrip().startswith("\\"):
                    return self._help(text.strip().rstrip(";").split())
                for statement in statements(text):
                    self._run_statement(statement)
        except PinotPluginError as error:
            self._cli.out.note(mask_text(f"Error: {error}"))
        except KeyboardInterrupt:
            self._cli.out.note("\nInterrupted.")
        return True

    def _run_statement(self, statement: str) -> None:
        began_s = self._clock.monotonic()
        answer = self._runner.run(statement, self._params_of(statement))
        took_ms = (self._clock.monotonic() - began_s) * 1000
        write(self._cli.out, [answer])
        first, *rest = note_of(answer)
        self._cli.out.note(f"{first}; {took_ms:.0f} ms here" if self._timing else first)
        for line in rest:
            self._cli.out.note(line)

    def _params_of(self, statement: str) -> Mapping[str, Any] | None:
        if not self._params:
            return None
        from controller_client.broker.parameters import placeholders

        named = placeholders(statement)
        return {name: value for name, value in self._params.items() if name in named}

    def _help(self, words: list[str]) -> bool:
        out = self._cli.out
        match words:
            case ["\\q"]:
                return False
            case ["\\d"]:
                out.table(("table",), [(name,) for name in self._cli.client().tables.list()])
            case ["\\d", table]:
                self._describe(table)
            case ["\\x"]:
                vertical = out.format is not OutputFormat.VERTICAL
                usual = OutputFormat.TABLE if self._usual is OutputFormat.VERTICAL else self._usual
                out.format = OutputFormat.VERTICAL if vertical else usual
                out.note(f"The output format is {out.format}.")
            case ["\\timing"]:
                self._timing = not self._timing
                out.note(f"Timing is {'on' if self._timing else 'off'}.")
            case ["\\?"]:
                for name, what in HELPERS.items():
                    out.note(f"{name.ljust(8)} {what}")
            case _:
                near = did_you_mean(words[0], HELPERS, otherwise="\\? lists them")
                raise ConfigError(f"there is no helper {' '.join(words)}", remedy=near)
        return True

    def _describe(self, table: str) -> None:
        fields = self._names.schema(table).fields
        rows = [
            (each.name, each.data_type if each.single_value else f"{each.data_type}_ARRAY", each.role.lower())
            for each in fields
        ]
        self._cli.out.table(("column", "type", "role"), rows)
