"""Click groups: one with better help than click's own, and one that imports a command only when it is used.

The latter has a table of its commands. The line that ``--help`` shows for a command is the first line of the
docstring of the command's module, read from the source text. Listing the commands therefore imports none of
their modules, and there is no second table of help texts that could drift away from them.

The table has entry points as text: module, attribute, and the extra that brings the dependencies, if any::

    {"cluster": "pinotctl.commands.cluster:cluster [jvm]"}
"""

from __future__ import annotations

import difflib
import importlib.metadata
import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from controller_client.common.extras import missing_module
from controller_client.errors import SetupError
from pinotctl.arguments import check_values
from pinotctl.context import CliContext

__all__ = ["CommandGroup", "LazyGroup", "missing_dependency", "one_line_help"]

_DOCSTRING_START = re.compile(r"""\s*(?:\#.*\n\s*)*[rR]?(?:\"\"\"|''')\s*(?P<line>[^\n]*)""")

_ANY_LENGTH = 1000

# A docstring may begin with the command it is about: "``pinotctl serve``: run a role ..."
_ADDRESS = re.compile(r"^``pinotctl[^`]*``: ?")


class CommandGroup(click.Group):
    """A group whose help shows whole sentences about its commands; suggests names for misspelt ones."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Do as click does, and suggest the nearest names for a misspelt command."""
        name = args[0]
        names = self.list_commands(ctx)
        if name not in names and not name.startswith("-") and not ctx.resilient_parsing:
            near = difflib.get_close_matches(name, names, n=3)
            hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands; unlike click's method, whole sentences on more than one line."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(self.summaries()))

    def summaries(self) -> list[tuple[str, str]]:
        """Name of each command, and what it does in a sentence."""
        return [
            (name, command.get_short_help_str(limit=_ANY_LENGTH))
            for name, command in self.commands.items()
            if not command.hidden
        ]


class LazyGroup(CommandGroup):
    """A group whose commands are imported when they are used, next to those that are added as usual.

    Args:
        lazy_commands: ``module:attribute [extra]`` of each click command, by its name.

    Attributes:
        entry_points: The same, parsed.
    """

    def __init__(self, *args: object, lazy_commands: Mapping[str, str], **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]  # click's own, passed on
        self.entry_points = {
            name: importlib.metadata.EntryPoint(name, value, "pinotctl")
            for name, value in sorted(lazy_commands.items())
        }

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands, sorted."""
        return sorted({*self.entry_points, *self.commands})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command.

        Raises:
            SetupError: The command's module or one of its dependencies is not installed; the error names the
                extra.
        """
        point = self.entry_points.get(cmd_name)
        if point is None:
            return super().get_command(ctx, cmd_name)
        if isinstance(ctx.obj, CliContext):
            ctx.obj.entry_point = point
        try:
            command = point.load()
        except ModuleNotFoundError as error:
            raise missing_dependency(point, error) from error
        if not isinstance(command, click.Command):
            raise SetupError(
                f"the entry point of the command {cmd_name} is a {type(command).__name__}",
                expected="a click command",
                where=point.value,
            )
        return check_values(command)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names of commands and options; unlike click's method, without importing the commands."""
        items = [
            CompletionItem(name, help=one_line_help(point))
            for name, point in self.entry_points.items()
            if name.startswith(incomplete)
        ]
        return items + click.Command.shell_complete(self, ctx, incomplete)

    def summaries(self) -> list[tuple[str, str]]:
        """Name of each command, and what it does in a sentence; imports none."""
        return [
            *super().summaries(),
            *((name, one_line_help(point)) for name, point in self.entry_points.items()),
        ]


def one_line_help(point: importlib.metadata.EntryPoint) -> str:
    """First line of the docstring of the entry point's module, or ``""`` if the source cannot be read."""
    package, *rest = point.module.split(".")
    # find_spec of a dotted name would import the parents; that of a top-level name imports nothing.
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return ""
    for folder in spec.submodule_search_locations:
        base = Path(folder).joinpath(*rest)
        for source in (base.with_suffix(".py"), base / "__init__.py"):
            if source.is_file():
                match = _DOCSTRING_START.match(source.read_text(encoding="utf-8"))
                line = _ADDRESS.sub("", match["line"].strip("\"' ")) if match else ""
                return line[:1].upper() + line[1:]
    return ""


def missing_dependency(point: importlib.metadata.EntryPoint, error: ModuleNotFoundError) -> SetupError:
    """The error of a command that cannot be imported; it names the extra that brings what is missing."""
    return missing_module(error, f"the command {point.name}", point.extras)
