"""The base of all REST documents: keeps unknown fields and writes back only fields that were read or set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from controller_client.errors import ConfigError

__all__ = ["PinotModel"]


class PinotModel(BaseModel):
    """A JSON document of Pinot, with camel case in JSON and snake case in Python."""

    model_config = ConfigDict(
        extra="allow", alias_generator=to_camel, populate_by_name=True, validate_assignment=True
    )

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Parse a document.

        Raises:
            ConfigError: A field has a wrong type or is missing; the message names it.
        """
        try:
            return cls.model_validate(dict(document))
        except ValidationError as error:
            faults = "; ".join(
                f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}"
                for fault in error.errors(include_url=False, include_input=False)
            )
            # The cause is omitted: it repeats the input, and task configs contain credentials.
            raise ConfigError(f"the document is not a valid {cls.__name__}: {faults}") from None

    def to_json(self) -> dict[str, Any]:
        """Return the document with the fields that were read or set, including unknown ones."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)
