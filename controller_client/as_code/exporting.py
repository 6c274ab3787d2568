"""Export a cluster to a folder, with references instead of secrets."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from controller_client.as_code.fields import changes, leaves
from controller_client.as_code.files import SETTINGS_FILE, Folder, FolderSettings, read_folder, write_folder
from controller_client.as_code.hiding import is_unfinished, secret_references
from controller_client.as_code.live import read_cluster, read_tables
from controller_client.as_code.objects import Document, ObjectRef, sort_order
from controller_client.as_code.references import References
from controller_client.as_code.wanted import read_targets
from controller_client.common.operator_secrets import DEFAULT_PREFIX
from controller_client.common.references import has_reference
from controller_client.errors import ConfigError
from controller_client.rest.client import RestClient

__all__ = ["ExportReport", "export_cluster"]


@dataclass(frozen=True)
class ExportReport:
    """The result of an export.

    Attributes:
        objects: Number of objects.
        written: Files that are new or were changed, relative to the folder.
        variables: Variables that the files refer to instead of secrets, with the object of each.
        unfinished: Tables whose stream is being changed: the files have what they consume meanwhile, but not
            the old secrets.
    """

    objects: int
    written: tuple[Path, ...]
    variables: Mapping[str, ObjectRef]
    unfinished: tuple[ObjectRef, ...] = ()


def export_cluster(
    client: RestClient,
    path: Path,
    *,
    owner: str | None = None,
    tables: Collection[str] = (),
    as_json: bool = False,
) -> ExportReport:
    """Write a cluster's objects to a folder; secrets become references to variables.

    If the folder already has files, those that match the cluster stay unchanged, and the others keep their
    references.

    Args:
        client: Client of the controller.
        path: The folder; created if it does not exist.
        owner: Owner of the objects, for a new folder; default: ``default``.
        tables: Only these tables, by raw name, with their schemas and consumption; if empty, all objects.
        as_json: Write JSON instead of YAML.

    Raises:
        ConfigError: The folder's files cannot be read, or describe the same objects in another format.
    """
    live = read_tables(client, tables) if tables else read_cluster(client)
    folder_documents: Mapping[ObjectRef, Document] = {}
    files: Mapping[ObjectRef, str] = {}
    as_it_is: set[ObjectRef] = set()
    settings = FolderSettings(owner=owner or "default")
    if (path / SETTINGS_FILE).is_file():
        folder = read_folder(path)
        settings, folder_documents, files = folder.settings, folder.documents, folder.files
        _require_places(files, live, as_json)
        if owner is not None and owner != settings.owner:
            raise ConfigError(f"the folder's owner is {settings.owner}", expected=owner, where=str(path))
        as_it_is = _without_difference(client, folder, live)
    prefix = settings.secrets[0] if settings.secrets else DEFAULT_PREFIX
    documents: dict[ObjectRef, Document] = {}
    variables: dict[str, ObjectRef] = {}
    for ref in sorted(live, key=sort_order):
        if ref in as_it_is:
            continue
        document, names = secret_references(ref, live[ref], variables, prefix)
        documents[ref] = _with_known(document, folder_documents.get(ref))
        variables.update(dict.fromkeys(names, ref))
    used = {text for document in documents.values() for _, text in leaves(document) if isinstance(text, str)}
    variables = {name: ref for name, ref in variables.items() if f"${{env:{name}}}" in used}
    written = write_folder(path, settings, documents, as_json=as_json, files=files)
    unfinished = tuple(ref for ref in sorted(live, key=sort_order) if is_unfinished(ref, live[ref]))
    return ExportReport(len(live), tuple(written), variables, unfinished)


def _without_difference(
    client: RestClient, folder: Folder, live: Mapping[ObjectRef, Document]
) -> set[ObjectRef]:
    """Return the objects whose files match the cluster: these files are not rewritten."""
    present = replace(folder, documents={ref: each for ref, each in folder.documents.items() if ref in live})
    # The export has no values for references, and needs none.
    references = References.without_values(folder.path)
    targets = read_targets(client, present, live, references, keep_unset=True)
    return {target.ref for target in targets if not target.differs}


def _with_known(document: Document, file_document: Document | None) -> Document:
    """Keep the references of the existing file wherever the cluster has a text."""
    if file_document is None:
        return document
    result = document
    for change in changes(document, file_document):
        if isinstance(change.new, str) and has_reference(change.new) and isinstance(change.old, str):
            result = _replaced(result, change.pointer, change.new)
    return result


def _replaced(document: Document, pointer: tuple[str, ...], text: str) -> Document:
    key, *rest = pointer
    inner = document.get(key)
    if not rest:
        return {**document, key: text}
    if isinstance(inner, Mapping):
        return {**document, key: _replaced(inner, tuple(rest), text)}
    return document  # in a list, whose items may have moved: keep the variable of the export


def _require_places(
    files: Mapping[ObjectRef, str], live: Mapping[ObjectRef, Document], as_json: bool
) -> None:
    suffix = ".json" if as_json else ".yaml"
    for ref, file in files.items():
        if ref in live and not (
            file.endswith(suffix) and file.startswith(f"{ref.kind}/") and file.count("/") == 1
        ):
            raise ConfigError(
                f"the {ref} is already in {file}",
                expected=f"the file where an export writes it: {ref.kind}/...{suffix}",
                remedy="move it there, or export to another folder",
            )
