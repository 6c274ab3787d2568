"""What a long-running process reports about itself: metrics for Prometheus, liveness and readiness.

==============  ========================================================================================
module          what
==============  ========================================================================================
``catalogue``   every metric: its name, labels, unit and meaning
``process``     the metrics, loops and needs of one process
``values``      a metric's values: replaced together, dropped along with their tables
``health``      loops that must keep making rounds, and what a process needs before it is ready
``server``      serves ``/metrics``, ``/health`` and ``/ready``
``rules``       alerts for Prometheus, as a file
``dashboards``  dashboards for Grafana, generated from a description in Python
==============  ========================================================================================
"""

from controller_client.monitoring.health import Loop, Need
from controller_client.monitoring.process import Monitoring
from controller_client.monitoring.server import MonitoringServer
from controller_client.monitoring.values import forget_tables, label_sets, replace_values

__all__ = ["Loop", "Monitoring", "MonitoringServer", "Need", "forget_tables", "label_sets", "replace_values"]
