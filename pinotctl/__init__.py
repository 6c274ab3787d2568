"""The ``pinotctl`` command.

Importing this package imports none of it, so that a container can install its signal handlers first.
"""

from typing import NoReturn

__all__ = ["main"]


def main() -> NoReturn:
    """Entry point of the ``pinotctl`` script: run the command line of this process, and exit."""
    from pinotctl.root import cli

    cli.main(prog_name="pinotctl")
