"""Pinot's REST documents, typed where callers use them; additions of a newer Pinot survive a round trip."""

from controller_client.models.base import PinotModel
from controller_client.models.epoch_format import EpochFormat
from controller_client.models.retention import retention_ms
from controller_client.models.schema import FieldRole, FieldSpec, Schema, SchemaField
from controller_client.models.segment import SegmentMetadata
from controller_client.models.server_tags import ServerTags
from controller_client.models.table import SegmentsConfig, TableConfig, TableTaskConfig

__all__ = [
    "EpochFormat",
    "FieldRole",
    "FieldSpec",
    "PinotModel",
    "Schema",
    "SchemaField",
    "SegmentMetadata",
    "SegmentsConfig",
    "ServerTags",
    "TableConfig",
    "TableTaskConfig",
    "retention_ms",
]
