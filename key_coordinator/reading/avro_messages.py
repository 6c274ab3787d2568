"""Avro messages: plain, or from Confluent's serializer with a schema registry."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import fastavro
import requests
from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_exponential

from controller_client.common.avro_bounds import avro_size
from controller_client.common.http_session import HttpSession
from controller_client.common.reply_limits import ReplyTooLongError, reply_limits
from controller_client.errors import ConfigError, SourceError
from key_coordinator.reading.recipe import MessageFormat

__all__ = ["AvroMessages"]

logger = logging.getLogger(__name__)

_HEADER_BYTES = 5
_TIMEOUT_S = 10.0
_NO_SUCH_SCHEMA = 40403
_GREATEST_ID = 2**31 - 1
_MAX_SCHEMA_BYTES = 8 << 20
_MAX_SCHEMAS = 1_000
"""Of the registry, remembered at a time: messages may name any number of them."""
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
        """Return the schema with an id; None if its messages are not read, as if the registry had none.

        The id is part of the message, so nothing that it leads to may end the process.
        """
        if number > _GREATEST_ID:  # ids are signed, and a registry has no negative ones
            return None
        if number not in self._of_registry:
            if len(self._of_registry) >= _MAX_SCHEMAS:
                self._of_registry.clear()
            schema = self._fetched(number)
            if isinstance(schema, str):
                logger.warning("messages with schema %d are not read: %s", number, schema)
                schema = None
            self._of_registry[number] = schema
        return self._of_registry[number]

    @retry(
        retry=retry_if_exception_type(SourceError),
        stop=stop_after_attempt(_TRIES),
        wait=wait_exponential(0.2),
        reraise=True,
    )
    def _fetched(self, number: int) -> Any:
        """Return a schema of the registry; None if it has none, and as text why it is not used."""
        path = f"/schemas/ids/{number}"
        try:
            status, answer = self._asked(path)
        except ReplyTooLongError:
            return f"it has more than {_MAX_SCHEMA_BYTES:,} bytes"
        if status == requests.codes.not_found and _error_code(answer) == _NO_SUCH_SCHEMA:
            return None
        if status != requests.codes.ok:
            raise SourceError(
                f"the schema registry returned status {status} for schema {number}",
                expected="200",
                where=self._url(path),
                remedy="check its log, and schema.registry.basic.auth.user.info in the stream config",
            )
        text = answer.get("schema") if isinstance(answer, dict) else None
        if not isinstance(text, str):
            raise SourceError(
                f"the schema registry's response for schema {number} contains no schema",
                where=self._url(path),
            )
        try:
            schema = _parsed(text)
        except ConfigError as error:
            return error.message
        return schema if self._is_of_topic(number, schema) else self._refused_subject()

    def _is_of_topic(self, number: int, schema: Any) -> bool:
        """Whether the topic's writers may use a schema, by the names that Confluent's serializers give it."""
        message = self._message
        if message.subjects is None:
            return True
        try:
            # A subject that was deleted since still has messages.
            status, answer = self._asked(f"/schemas/ids/{number}/versions?deleted=true")
        except ReplyTooLongError:
            return False
        if status != requests.codes.ok or not isinstance(answer, list):
            if status < requests.codes.server_error:
                # An older registry, or one of another kind.
                logger.warning("the schema registry does not report the subjects of schema %d", number)
                return True
            raise SourceError(
                f"the schema registry returned status {status} for the subjects of schema {number}",
                expected="200",
                where=self._url(f"/schemas/ids/{number}/versions"),
            )
        record = str(schema.get("name")) if isinstance(schema, dict) else ""
        allowed = {record, *message.subjects}
        allowed |= {f"{each}-{part}" for each in message.subjects for part in ("value", record)}
        return any(isinstance(each, dict) and each.get("subject") in allowed for each in answer)

    def _refused_subject(self) -> str:
        named = " or ".join(self._message.subjects or ())
        return (
            f"it is of no subject of {named}; if the topic has messages with it, add the subject to"
            " upsert.schemaSubjects in the table's customConfigs"
        )

    def _asked(self, path: str) -> tuple[int, Any]:
        """Return the status of a response, and its JSON; None if it has none."""
        try:
            answer = self._session.get(
                self._url(path),
                timeout=_TIMEOUT_S,
                allow_redirects=False,
                hooks=reply_limits(_MAX_SCHEMA_BYTES),
            )
        except ReplyTooLongError:
            raise
        except (requests.RequestException, OSError) as error:
            raise SourceError(
                f"the schema registry does not answer ({type(error).__name__})", where=self._url(path)
            ) from error
        try:
            return answer.status_code, json.loads(answer.content)
        except (ValueError, RecursionError):
            return answer.status_code, None

    def _url(self, path: str) -> str:
        return str(self._message.registry_url).rstrip("/") + path


def _error_code(answer: Any) -> Any:
    """Return the registry's code in the body of an error; a 404 without one is not from a registry."""
    return answer.get("error_code") if isinstance(answer, dict) else None


def _parsed(schema: str) -> Any:
    try:
        document = json.loads(schema)
        avro_size(document)
        # Pinot stores the underlying value of a logical type.
        return fastavro.parse_schema(_without_logical_types(document))
    except (ValueError, KeyError, TypeError, RecursionError, fastavro.schema.SchemaParseException) as error:
        raise ConfigError(
            f"the Avro schema of the messages cannot be used: {error}",
            expected="an Avro schema in JSON that is not recursive, and whose array items take bytes",
        ) from error


def _without_logical_types(part: Any) -> Any:
    if isinstance(part, dict):
        return {key: _without_logical_types(each) for key, each in part.items() if key != "logicalType"}
    return [_without_logical_types(each) for each in part] if isinstance(part, list) else part
