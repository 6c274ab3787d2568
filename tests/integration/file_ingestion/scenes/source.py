"""Files on S3 whose rows show which versions of which files are in a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tests.support.faulty_http import Rule
from tests.support.faulty_s3 import FaultyS3

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Figures = dict[str, tuple[int, float]]
"""Maps each version of a file to its number of rows and the sum of their ids."""


def ids_of(version: str) -> range:
    """Return the ids of a version of a file: ``F3`` has 3000 to 3012, ``F3.1`` has 3100 to 3112."""
    number, _, rewritten = version.removeprefix("F").partition(".")
    first = int(number) * 1000 + int(rewritten or 0) * 100
    return range(first, first + 10 + int(number))


def figures(versions: Iterable[str]) -> Figures:
    return {version: (len(ids_of(version)), float(sum(ids_of(version)))) for version in versions}


def whole(versions: Iterable[str]) -> tuple[float, ...]:
    """Return count and sum over a table with these versions of files."""
    ids = [n for version in versions for n in ids_of(version)]
    return (len(ids), float(sum(ids)))


def text_of(version: str) -> str:
    """Return the content of a version of a file."""
    return "\n".join(["id,word,amount", *(f"{n},{version},{n / 4}" for n in ids_of(version))]) + "\n"


class Source:
    """CSV files below ``in/`` of a bucket.

    The task reaches them through a proxy, the test directly.
    """

    def __init__(self, client: S3Client, bucket: str, proxy: FaultyS3) -> None:
        self.bucket = bucket
        self.proxy = proxy
        self._client = client

    @property
    def uri(self) -> str:
        return f"s3://{self.bucket}/in/"

    def put(self, *versions: str) -> None:
        """Write versions of files: ``F1.1`` is the second version of ``F1``."""
        for version in versions:
            self.put_text(version, text_of(version))

    def put_text(self, version: str, text: str | bytes) -> None:
        """Write a file with any content."""
        body = text.encode() if isinstance(text, str) else text
        self._client.put_object(Bucket=self.bucket, Key=self._key(version), Body=body)

    def put_bad(self, name: str) -> None:
        """Write a file with a row that does not fit the schema."""
        self.put_text(name, f"id,word,amount\n1,{name},1\nnine,{name},9\n")

    def delete(self, *names: str) -> None:
        for name in names:
            self._client.delete_object(Bucket=self.bucket, Key=self._key(name))

    def refuse(self, *names: str) -> list[Rule]:
        """Make reads of these files fail until the rules are lifted."""
        return [self.proxy.answer(403, "GET", self.of(name)) for name in names]

    def gets(self, *names: str) -> list[int]:
        """Return how often each file was read."""
        return [self.proxy.gets(self.of(name)) for name in names]

    def of(self, name: str) -> str:
        """Return a file as named by the proxy."""
        return f"{self.bucket}/{self._key(name)}"

    def uri_of(self, name: str) -> str:
        return f"s3://{self.of(name)}"

    @staticmethod
    def _key(version: str) -> str:
        return f"in/{version.partition('.')[0]}.csv"
