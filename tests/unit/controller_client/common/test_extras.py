"""Every optional module names the extra that contains it."""

from __future__ import annotations

import ast
import importlib.metadata
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from controller_client.common.extras import extra_for, install_command, missing_module

ROOT = Path(__file__).parents[4]
PACKAGES = (
    *("controller_client", "jvm_bridge", "key_coordinator", "minion_tasks", "pinotctl"),
    *("pyspark_pinot", "server_hooks", "spark_connectors"),
)
ALWAYS_THERE = {
    *("click", "jinja2", "kazoo", "markupsafe", "prometheus_client", "pydantic"),
    *("requests", "rich", "tenacity", "urllib3", "yaml"),
}
FOR_TYPES_ALONE = {"mypy_boto3_s3"}

SMALLEST_EXTRA = {
    "adlfs": "azure",
    "aiohttp": "gcs",
    "azure": "azure",
    "boto3": "s3",
    "botocore": "s3",
    "confluent_kafka": "kafka",
    "deltalake": "delta",
    "fastavro": "coordinator",
    "fsspec": "hdfs",
    "gcsfs": "gcs",
    "google": "executor",
    "grpc": "executor",
    "isal": "jvm",
    "jgo": "jvm",
    "jpype": "jvm",
    "numpy": "upsert",
    "orjson": "arrow",
    "pandas": "pandas",
    "polars": "polars",
    "prompt_toolkit": "shell",
    "psutil": "jvm",
    "puresasl": "sasl",
    "py4j": "spark",
    "pyarrow": "arrow",
    "pyiceberg": "iceberg",
    "pyspark": "spark",
    "xxhash": "coordinator",
}

BROUGHT_BY = {
    "aiohttp": "gcsfs",
    "azure-core": "adlfs",
    "azure-storage-blob": "adlfs",
    "botocore": "boto3",
    "prompt_toolkit": "prompt-toolkit",
    "py4j": "pyspark",
    "pyspark-client": "pyspark",
}
"""Distributions that no extra for users names: requirements of others, names normalized by a build."""


def optional_modules() -> set[str]:
    """Return the third-party modules that this project imports, except those always installed."""
    imported: set[str] = set()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    imported |= {alias.name.partition(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    imported.add(node.module.partition(".")[0])
    java = {"java", "javax", "org"}  # Java's packages, which JPype makes importable
    return imported - set(sys.stdlib_module_names) - set(PACKAGES) - ALWAYS_THERE - FOR_TYPES_ALONE - java


def test_all_optional_modules_are_known() -> None:
    assert optional_modules() == SMALLEST_EXTRA.keys()


@pytest.fixture(scope="module")
def distributions() -> Mapping[str, Sequence[str]]:
    """The distributions of each module, from the files of all."""
    return importlib.metadata.packages_distributions()


@pytest.mark.parametrize("module", sorted(SMALLEST_EXTRA))
def test_a_module_names_the_smallest_extra_that_contains_it(
    distributions: Mapping[str, Sequence[str]], module: str
) -> None:
    extra = extra_for(f"{module}.inner")
    assert extra == SMALLEST_EXTRA[module]
    names = {name.lower() for name in distributions[module]}
    names |= {BROUGHT_BY[name] for name in names if name in BROUGHT_BY}
    requirements = [
        line for line in importlib.metadata.requires("pinot-plugins") or () if f"extra == '{extra}'" in line
    ]
    assert any(line.lower().startswith(name) for line in requirements for name in names)


@pytest.mark.parametrize(
    ("module", "declared", "extra"),
    [
        ("jpype", ["minion"], "minion"),
        ("jpype", ["server"], "server"),
        ("pyspark", ["minion"], "spark"),
        ("confluent_kafka", ["jvm"], "kafka"),
        ("no_such_module", ["jvm"], "jvm"),
        ("no_such_module", [], None),
    ],
)
def test_a_declared_extra_is_preferred_if_it_contains_the_module(
    module: str, declared: list[str], extra: str | None
) -> None:
    assert extra_for(module, declared) == extra


@pytest.mark.parametrize(
    ("extra", "command"),
    [("minion", "pip install 'pinot-plugins[minion]'"), (None, "pip install pinot-plugins")],
)
def test_the_command_that_installs_it(extra: str | None, command: str) -> None:
    assert install_command(extra) == command


def test_the_error_names_what_needs_the_module() -> None:
    error = missing_module(ModuleNotFoundError(name="jpype"), "the command cluster", ["jvm"])
    assert error.message == "the command cluster needs the Python module jpype, which is not installed"
    assert error.remedy == "pip install 'pinot-plugins[jvm]'"
