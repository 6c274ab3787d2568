"""What a long-running process tells of itself: metrics for Prometheus, whether it is alive and ready.

==============  ========================================================================================
module          what
==============  ========================================================================================
``catalogue``   every metric that there is: its name, labels, unit and meaning
``process``     the metrics, loops and needs of one process
``values``      a metric's values, replaced together, dropped with their tables
``health``      loops that have to make rounds, and what a process needs before it is ready
``server``      answers ``/metrics``, ``/health`` and ``/ready``
``rules``       alerts for Prometheus, as a file
``dashboards``  dashboards for Grafana, made from a description in Python
==============  ========================================================================================
"""

from controller_client.monitoring.health import Loop, Need
from controller_client.monitoring.process import Monitoring
from controller_client.monitoring.server import MonitoringServer
from controller_client.monitoring.values import forget_tables, label_sets, replace_values

__all__ = ["Loop", "Monitoring", "MonitoringServer", "Need", "forget_tables", "label_sets", "replace_values"]
