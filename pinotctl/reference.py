"""The reference of all commands as Markdown (docs/cli.md), written from the commands themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

__all__ = ["reference"]

_HEAD = """\
# pinotctl

<!-- Written by `pinotctl write-reference`; a test compares. Do not edit. -->
"""


def reference(root: click.Group) -> str:
    """Render all commands except the hidden ones.

    Raises:
        SetupError: A command's dependencies are not installed.
    """
    return "\n".join([_HEAD, *_command(root, click.Context(root, info_name=root.name))])


def _command(command: click.Command, ctx: click.Context) -> Iterator[str]:
    if ctx.parent is not None:
        yield f"{'#' * min(4, _depth(ctx) + 1)} {ctx.command_path}\n"
    pieces = " ".join(piece for piece in command.collect_usage_pieces(ctx) if piece)
    yield f"```\n{ctx.command_path} {pieces}".rstrip() + "\n```\n"
    # "\b" on a line of its own tells click not to wrap the paragraph.
    yield inspect.cleandoc(command.help or "").replace("\b\n", "") + "\n"
    options = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
    if options:
        yield "| option | meaning |\n| --- | --- |"
        yield from (_row(option, ctx) for option in options)
        yield ""
    if isinstance(command, click.Group):
        for name in command.list_commands(ctx):
            below = command.get_command(ctx, name)
            if below is not None and not below.hidden:
                yield from _command(below, click.Context(below, info_name=name, parent=ctx))


def _row(option: click.Option, ctx: click.Context) -> str:
    record = option.get_help_record(ctx)
    names, meaning = record or (" / ".join(option.opts), "")
    return "| `{}` | {} |".format(names.replace("|", "\\|"), meaning.replace("|", "\\|"))


def _depth(ctx: click.Context) -> int:
    return 0 if ctx.parent is None else _depth(ctx.parent) + 1
