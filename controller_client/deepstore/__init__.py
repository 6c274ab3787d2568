"""Copies of segments on servers and in the deep store: which exist, which are missing, what may be stopped.

This package works through REST, ZooKeeper and the store's own protocol, from outside the cluster.
"""

from controller_client.deepstore.audit import AuditOptions, Auditor, TableAudit
from controller_client.deepstore.fetching import SegmentFetcher
from controller_client.deepstore.judge import (
    REPAIRABLE,
    Fault,
    Finding,
    Judgement,
    Replica,
    judge,
)
from controller_client.deepstore.layout import StoreLayout
from controller_client.deepstore.listing import OpenStore, open_deep_store
from controller_client.deepstore.rate import RateLimit
from controller_client.deepstore.remote_copies import STORE, Fetched, Refused
from controller_client.deepstore.report import COLUMNS, AuditReport
from controller_client.deepstore.segment_record import SegmentRecord, read_record
from controller_client.deepstore.servers import ServerAdmins

__all__ = [
    "COLUMNS",
    "REPAIRABLE",
    "STORE",
    "AuditOptions",
    "AuditReport",
    "Auditor",
    "Fault",
    "Fetched",
    "Finding",
    "Judgement",
    "OpenStore",
    "RateLimit",
    "Refused",
    "Replica",
    "SegmentFetcher",
    "SegmentRecord",
    "ServerAdmins",
    "StoreLayout",
    "TableAudit",
    "judge",
    "open_deep_store",
    "read_record",
]
