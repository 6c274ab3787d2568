"""Conditions that tasks wait for; each is checked in the triggerer or in a worker.

To add one, derive a frozen dataclass from :class:`~pinot_airflow.conditions.base.Condition`. Its fields must
be JSON values.
"""
