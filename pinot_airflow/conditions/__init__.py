"""What tasks wait for: each condition looks at the cluster, in the triggerer or in a worker.

A further one is a frozen dataclass that derives from :class:`~pinot_airflow.conditions.base.Condition`, with
fields that JSON can hold.
"""
