"""Avro messages: plain, or from Confluent's serializer with a schema registry."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import fastavro
import requests
from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_exponential

from controller_client.common.http_session import HttpSession
from controller_client.coordinator.reading.recipe import MessageFormat
from controller_client.errors import ConfigError, SourceError

__all__ = ["AvroMessages"]

_HEADER_BYTES = 5
_TIMEOUT_S = 10.0
_NO_SUCH_SCHEMA = 40403
_MOST_SCHEMA_BYTES = 8 << 20
_TRIES = 4


class AvroMessages:
    """Reads messages; not thread-safe.

    Args:
        message: Their format.

    Raises:
        ConfigError: The schema is invalid.
    """

    def __init__(self, message: MessageFormat) -> None:
        self._message = message
        self._schema = _parsed(message.avro_schema) if message.avro_schema else None
        self._of_registry: dict[int, Any] = {}
        self._session = HttpSession()
        if message.registry_login:
            user, _, password = message.registry_login.partition(":")
            self._session.auth = (user, password)

    def read(self, values: Sequence[bytes]) -> list[Mapping[str, Any] | None]:
        """Read messages; None for one that does not match its schema.

        Raises:
            SourceError: The schema registry does not answer.
        """
        return [self._one(value) for value in values]

    def _one(self, value: bytes) -> Mapping[str, Any] | None:
        schema, data = self._schema, value
        if self._message.confluent:
            if len(value) < _HEADER_BYTES or value[0] != 0:
                return None
            data = value[_HEADER_BYTES:]
            schema = schema or self._schema_of(int.from_bytes(value[1:_HEADER_BYTES], "big"))
        if schema is None:
            return None
        try:
            row = fastavro.schemaless_reader(io.BytesIO(data), schema, None)
        except (EOFError, ValueError, IndexError, KeyError, TypeError, OverflowError, MemoryError):
            return None
        return row if isinstance(row, dict) else None

    def _schema_of(self, number: int) -> Any:
        """Return the schema with an id; None if the registry has none, because Pinot then drops the row."""
        if number not in self._of_registry:
            self._of_registry[number] = self._fetched(number)
        return self._of_registry[number]

    @retry(
        retry=retry_if_exception_type(SourceError),
        stop=stop_after_attempt(_TRIES),
        wait=wait_exponential(0.2),
        reraise=True,
    )
    def _fetched(self, number: int) -> Any:
        url = f"{str(self._message.registry_url).rstrip('/')}/schemas/ids/{number}"
        try:
            with self._session.get(url, timeout=_TIMEOUT_S, allow_redirects=False, stream=True) as answer:
                body = answer.raw.read(_MOST_SCHEMA_BYTES, decode_content=True)
        except (requests.RequestException, OSError) as error:
            raise SourceError(
                f"the schema registry does not answer ({type(error).__name__})", where=url
            ) from error
        if answer.status_code == requests.codes.not_found and _error_code(body) == _NO_SUCH_SCHEMA:
            return None
        if answer.status_code != requests.codes.ok:
            raise SourceError(
                f"the schema registry returned status {answer.status_code} for schema {number}",
                expected="200",
                where=url,
                remedy="check its log, and schema.registry.basic.auth.user.info in the stream config",
            )
        try:
            return _parsed(json.loads(body)["schema"])
        except (ValueError, KeyError, TypeError) as error:
            raise SourceError(
                f"the schema registry's response for schema {number} contains no schema", where=url
            ) from error


def _error_code(body: bytes) -> Any:
    """Return the registry's code in the body of an error; a 404 without one is not from a registry."""
    try:
        return json.loads(body).get("error_code")
    except (ValueError, AttributeError, RecursionError):
        return None


def _parsed(schema: str) -> Any:
    try:
        # Pinot stores the underlying value of a logical type.
        return fastavro.parse_schema(_without_logical_types(json.loads(schema)))
    except (ValueError, KeyError, TypeError, fastavro.schema.SchemaParseException) as error:
        raise ConfigError(
            f"the Avro schema of the messages cannot be parsed: {error}", expected="an Avro schema in JSON"
        ) from error


def _without_logical_types(part: Any) -> Any:
    if isinstance(part, dict):
        return {key: _without_logical_types(each) for key, each in part.items() if key != "logicalType"}
    return [_without_logical_types(each) for each in part] if isinstance(part, list) else part
