"""The ``pinotctl`` command: a click group whose commands come from entry points."""

from controller_client.cli.root import cli, main

__all__ = ["cli", "main"]
