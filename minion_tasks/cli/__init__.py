"""The ``pinotctl`` commands of this package."""
