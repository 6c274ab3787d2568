"""Fetch, show and warm up the jars of Pinot that run in the JVM."""

from __future__ import annotations

import click

from jvm_bridge.jars import pinot_jars
from pinotctl.commands.jar_progress import jar_progress
from pinotctl.context import CliContext, pass_cli
from pinotctl.lazy import CommandGroup
from pinotctl.options import output_option


@click.group(cls=CommandGroup)
def jars() -> None:
    """Fetch, show and warm up the jars of Pinot that run in the JVM."""


@jars.command()
@output_option()
@pass_cli
def fetch(cli: CliContext) -> None:
    """Fetch missing jars, so that everything works offline afterwards."""
    with jar_progress(cli.out) as progress:
        jar_set = pinot_jars(progress)
    size_mb = sum(jar.stat().st_size for jar in jar_set.class_path) / 1e6
    cli.out.record(
        {
            "version": jar_set.version,
            "jars": len(jar_set.class_path),
            "size_mb": round(size_mb),
            "origin": jar_set.origin,
        }
    )


@jars.command()
@output_option()
@pass_cli
def warm(cli: CliContext) -> None:
    """Compile and archive the classes that each JVM loads, so that it starts faster.

    This is useful if short-lived processes build segments, as Spark's executors do.
    """
    from jvm_bridge.builder.warm_up import warm_up

    with jar_progress(cli.out) as progress:
        pinot_jars(progress)
    done = warm_up()
    cli.out.record(
        {
            "archive": str(done.archive),
            "size_mb": round(done.size_bytes / 1e6),
            "was_there": done.was_there,
        }
    )


@jars.command(name="class-path")
@output_option()
@pass_cli
def class_path(cli: CliContext) -> None:
    """Print the class path, in order, for Java's -cp option."""
    with jar_progress(cli.out) as progress:
        paths = [str(jar) for jar in pinot_jars(progress).class_path]
    if cli.out.is_json:
        cli.out.json({"class_path": paths})
    else:
        cli.out.line(":".join(paths))
