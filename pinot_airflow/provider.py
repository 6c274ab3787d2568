"""The description of this package for Airflow (entry point ``apache_airflow_provider``)."""

from __future__ import annotations

from typing import Any

from controller_client.common.redaction import is_secret
from pinot_airflow.access import EXTRAS

__all__ = ["get_provider_info"]

_NAME = "Pinot (pinot-plugins)"
_TYPES = {"tls_verify": "boolean", "connect_timeout_s": "number", "read_timeout_s": "number"}


def get_provider_info() -> dict[str, Any]:
    """Return the connection type with its fields, and the modules."""

    def modules(*names: str) -> list[dict[str, Any]]:
        return [{"integration-name": _NAME, "python-modules": [f"pinot_airflow.{name}" for name in names]}]

    return {
        "package-name": "pinot-plugins",
        "name": _NAME,
        "description": "Operators, sensors and a hook for Apache Pinot: file ingestion, pauses, watermarks.",
        "integrations": [
            {
                "integration-name": _NAME,
                "external-doc-url": "https://docs.pinot.apache.org",
                "tags": ["service"],
            }
        ],
        "operators": modules("ingestion", "pausing"),
        "sensors": modules("sensors"),
        "hooks": modules("hook"),
        "triggers": modules("trigger"),
        "connection-types": [
            {
                "hook-class-name": "pinot_airflow.hook.PinotHook",
                "hook-name": _NAME,
                "connection-type": "pinot_plugins",
                "ui-field-behaviour": {
                    "hidden-fields": [],
                    "relabeling": {"host": "Controller", "schema": "http or https"},
                    "placeholders": {"port": "9000", "schema": "http"},
                },
                "conn-fields": {key: _field(key, text) for key, text in EXTRAS.items()},
            }
        ],
    }


def _field(key: str, text: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": [_TYPES.get(key, "string"), "null"]}
    if is_secret(key) and not key.endswith("_file"):
        schema["format"] = "password"
    return {"label": key, "description": text, "schema": schema}
