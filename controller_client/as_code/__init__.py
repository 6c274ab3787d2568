"""The cluster as code: a folder of files that is compared with a cluster and applied to it."""

from controller_client.as_code.applying import Applier, ApplyObserver, ApplyReport
from controller_client.as_code.drift import DriftedObject, find_drift
from controller_client.as_code.effects import Effect
from controller_client.as_code.exporting import ExportReport, export_cluster
from controller_client.as_code.files import Folder, FolderSettings, read_folder
from controller_client.as_code.objects import Kind, ObjectRef
from controller_client.as_code.plan import Action, Plan, PlannedField, Step, load_plan, save_plan
from controller_client.as_code.references import References

__all__ = [
    "Action",
    "Applier",
    "ApplyObserver",
    "ApplyReport",
    "DriftedObject",
    "Effect",
    "ExportReport",
    "Folder",
    "FolderSettings",
    "Kind",
    "ObjectRef",
    "Plan",
    "PlannedField",
    "References",
    "Step",
    "export_cluster",
    "find_drift",
    "load_plan",
    "read_folder",
    "save_plan",
]
