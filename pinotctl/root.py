"""The root of ``pinotctl``: global options, error messages on stderr, and exit codes.

Exit codes: 0 success; 1 failure; 2 wrong usage or configuration; 3 outcome unknown: the cluster may or may
not have applied the call; 130 interrupted by Ctrl-C.
"""

from __future__ import annotations

import io
import itertools
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from controller_client._version import __version__
from controller_client.common.redaction import mask_text
from controller_client.common.terminal import json_text, visible_lines
from controller_client.errors import ConfigError, PinotPluginError, SetupError
from pinotctl.arguments import check_values
from pinotctl.commands import COMMANDS
from pinotctl.context import CliContext
from pinotctl.lazy import LazyGroup, missing_dependency
from pinotctl.settings import SETTINGS

__all__ = ["cli"]

INTERRUPTED = 130


class RootGroup(LazyGroup):
    """The group of all commands; an error that reaches it ends the process with the error's exit code."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> NoReturn:
        """Run one command line and exit.

        Args:
            args: The command line after the program's name; default: that of the process.
            rest: Further parameters of click.
            extra: Further parameters of click; ``obj`` may be a prepared CliContext.
        """
        arguments = list(sys.argv[1:] if args is None else args)
        context: CliContext = extra.setdefault("obj", CliContext())
        _open_missing_streams()
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A character that the terminal's encoding lacks is escaped; it must not make a command fail
            # halfway.
            sys.stdout.reconfigure(errors="backslashreplace")
        extra["standalone_mode"] = False
        try:
            if any("\0" in each for each in arguments):
                raise ConfigError("an argument contains a NUL character", expected="text, or a file name")
            result = super().main(arguments, *rest, **extra)
        except click.Abort:
            sys.exit(INTERRUPTED)
        except BrokenPipeError:
            # The reader has closed the pipe, as in "pinotctl ... | head"; otherwise Python would report that
            # again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        except Exception as error:  # noqa: BLE001  # outermost: any error becomes a message and a code
            sys.exit(_report(error, context, as_json=_wants_json(arguments)))
        finally:
            context.close()
        # click returns an exit code (--help, --version, Exit) or what the command's function returned.
        sys.exit(result if isinstance(result, int) else 0)


def _open_missing_streams() -> None:
    """Open those of the standard streams that the process was started without, as by ``pinotctl ... >&-``.

    Opened in this order, each gets its usual file descriptor.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - until the end


def _wants_json(arguments: Sequence[str]) -> bool:
    """Whether to write errors as JSON.

    Read from the raw command line, since the error may be that the command line cannot be parsed.
    """
    return any(
        word == "--output=json" or (word, following) == ("--output", "json")
        for word, following in itertools.pairwise([*arguments, ""])
    )


def _report(error: Exception, context: CliContext, *, as_json: bool) -> int:
    """Write an error to stderr and return the exit code."""
    if isinstance(error, ModuleNotFoundError) and context.entry_point is not None:
        error = missing_dependency(context.entry_point, error)
    if isinstance(error, OSError) and error.strerror and not isinstance(error, PinotPluginError):
        where = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else None
        what = "the file cannot be used" if where else "reading or writing failed"
        reported = SetupError(f"{what}: {error.strerror}", where=where)
        reported.__cause__ = error
        error = reported
    if context.verbose and not isinstance(error, click.ClickException):
        click.echo(_shown("".join(traceback.format_exception(error))), err=True, nl=False)
    if isinstance(error, PinotPluginError):
        code = error.exit_code
        details = {
            "type": type(error).__name__,
            "message": error.message,
            "expected": error.expected,
            "where": error.where,
            "remedy": error.remedy,
            "http_status": error.http_status,
        }
        text = f"Error: {error}"
    elif isinstance(error, click.ClickException):
        code = error.exit_code
        details = {"type": type(error).__name__, "message": error.format_message()}
        shown = io.StringIO()
        error.show(shown)
        text = shown.getvalue().rstrip("\n")
    else:
        code = 1
        message = f"{type(error).__name__}: {error}".splitlines()[0]
        details = {
            "type": type(error).__name__,
            "message": message,
            "remedy": "Run it again as 'pinotctl -v ...' for the traceback, and please report it.",
        }
        text = f"Unexpected error: {message}"
        if not context.verbose:
            text += "\n  Run it again as 'pinotctl -v ...' for the traceback, and please report it."
    if as_json:
        hidden = {
            key: mask_text(value) if isinstance(value, str) else value for key, value in details.items()
        }
        click.echo(json_text({"error": {**hidden, "exit_code": code}}), err=True)
    else:
        click.echo(_shown(text), err=True)
    return code


def _shown(text: str) -> str:
    """Mask secrets and escape control characters: an error may contain text that others wrote."""
    return visible_lines(mask_text(text))


def _root(profile: str | None, verbose: int, **flags: str | None) -> None:
    click.get_current_context().ensure_object(CliContext).configure(flags, profile, verbose)


cli = RootGroup(
    name="pinotctl",
    lazy_commands=COMMANDS,
    callback=_root,
    help="""Work with an Apache Pinot cluster.

    Addresses and credentials come from a flag, else from the environment, else from a profile in
    ~/.config/pinotctl.toml; 'pinotctl config show' shows where each one comes from.

    Exit codes: 0 success, 1 failure, 2 wrong usage or configuration, 3 outcome unknown (check the cluster's
    state before you run the command again), 130 interrupted.
    """,
    params=[
        *(
            click.Option(
                [setting.flag],
                metavar="FILE" if setting.flag.endswith("-file") else "TEXT",
                help=f"{setting.help}  [env var: {setting.env}"
                f"{' (the secret itself)' if setting.secret else ''}"
                f"{f'; default: {setting.default}' if setting.default else ''}]",
            )
            for setting in SETTINGS
            if setting.is_flag
        ),
        click.Option(
            ["--profile"],
            metavar="NAME",
            help="Profile in pinotctl.toml.  [env var: PINOT_PROFILE; default: default]",
        ),
        click.Option(
            ["-v", "--verbose"], count=True, help="Log each step and show tracebacks; -vv logs more detail."
        ),
    ],
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
click.version_option(__version__, prog_name="pinotctl")(cli)
check_values(cli)


@cli.command(name="write-reference", hidden=True)
def write_reference() -> None:
    """Write the reference of all commands (docs/cli.md) to stdout."""
    from pinotctl.reference import reference

    click.echo(reference(cli), nl=False)
