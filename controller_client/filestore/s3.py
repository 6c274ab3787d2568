"""Objects in an S3 bucket, with the property names of Pinot's S3PinotFS."""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import boto3
import botocore.session
import urllib3
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionClosedError,
    PaginationError,
    ReadTimeoutError,
)
from botocore.parsers import ResponseParserError
from botocore.utils import parse_timestamp

from controller_client.common.credential_rules import Origin, may_receive
from controller_client.common.redaction import Redactor, mask_text
from controller_client.common.reply_limits import LimitedBody, ReplyTooLongError
from controller_client.common.text import visible
from controller_client.config import max_reply_bytes
from controller_client.errors import ConfigError, SourceError
from controller_client.filestore.base import FileInfo, SourceChangedError
from controller_client.filestore.faults import (
    BROKEN_REPLY,
    OVERLOADED,
    OVERLOADED_STATUSES,
    TOO_LONG,
    check_copied,
)

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import GetObjectOutputTypeDef

# On DEBUG, boto logs each request with its Authorization header, which contains the access key.
logging.getLogger("botocore").setLevel(logging.WARNING)

_FAULTS = (ClientError, BotoCoreError, ResponseParserError, ReplyTooLongError)
_LONGEST_CODE = 200
_MOST_EMPTY_PAGES = 1000
"""How many pages without an object may follow each other, as after mass deletions."""
_OF_AWS = re.compile(r"https://(?:[a-z0-9-]+\.)+amazonaws\.com(?:\.cn)?(?::443)?/?")
_NEEDS_KEYS = (
    "set accessKey and secretKey of the endpoint; or, to use the machine's own credentials, set"
    " AWS_ENDPOINT_URL_S3 to the endpoint in the environment of this process"
)
_INCOMPLETE = "IncompleteReply"
"""The code that replaces a reply without the complete document of its operation; boto repeats such a call."""
# The ends of their documents; the second may be an empty element.
_DOCUMENTS = {
    "ListObjectsV2": re.compile(rb"</(\w+:)?ListBucketResult>\s*\Z"),
    "DeleteObjects": re.compile(
        rb"</(\w+:)?DeleteResult>\s*\Z|\A(<\?[^<>]*\?>)?\s*<DeleteResult[^<>]*/>\s*\Z"
    ),
}
_IS_ERROR = re.compile(rb"(<\?[^<>]*\?>)?\s*<Error>.*</Error>\s*\Z", re.DOTALL)
# Without any, boto asks the service of the instance for keys as soon as it creates a client.
_UNUSED_KEYS = ("unused", "unused")
_OVERLOADED = {"SlowDown", "RequestLimitExceeded", "Throttling", "ThrottlingException", "TooManyRequests"}
_MISSING = {"404", "NoSuchKey", "NotFound"}
# The last is versitygw's response to an unknown access key.
_REFUSED = {"403", "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "XAdminUserNotFound"}


class S3Store:
    """A `FileStore` on S3 or a server with its protocol.

    Args:
        properties: ``region``, ``endpoint``, ``accessKey``, ``secretKey``, as in S3PinotFS; missing ones come
            from boto3's own chain (environment, profile, instance role). The chain's keys go only to AWS and
            to the endpoint that it names (``AWS_ENDPOINT_URL_S3``, ``AWS_ENDPOINT_URL``, or in a profile);
            another ``endpoint`` without keys of its own gets unsigned requests.

    Raises:
        ConfigError: The properties do not go together.
    """

    def __init__(self, properties: Mapping[str, str]) -> None:
        endpoint = properties.get("endpoint")
        self._endpoint = mask_text(endpoint or "default")
        self._redact = Redactor(properties.get(name, "") for name in ("accessKey", "secretKey"))
        try:
            has_own_keys = "accessKey" in properties
            self._is_unsigned = endpoint is not None and goes_unsigned(endpoint, has_own_keys=has_own_keys)
            own = (properties.get("accessKey"), properties.get("secretKey"))
            access_key, secret_key = _UNUSED_KEYS if self._is_unsigned else own
            self._s3: S3Client = _session().client(
                "s3",
                region_name=properties.get("region"),
                endpoint_url=endpoint,
                aws_access_key_id=access_key,
                aws_secret_access_key=secret_key,
                config=Config(
                    retries={"mode": "standard", "max_attempts": 5},
                    connect_timeout=5,
                    read_timeout=60,
                    max_pool_connections=16,
                    # A proxy could read what is sent to an http address.
                    proxies={} if str(endpoint).startswith("http:") else None,
                    signature_version=UNSIGNED if self._is_unsigned else None,
                ),
            )
            endpoint_of_client: Any = self._s3._endpoint  # type: ignore[attr-defined]  # noqa: SLF001 - no other way
            endpoint_of_client.http_session = _LimitedSession(endpoint_of_client.http_session)
            for operation in _DOCUMENTS:
                self._s3.meta.events.register(f"before-parse.s3.{operation}", _replace_incomplete)
        except (BotoCoreError, ValueError) as error:
            # ValueError means a malformed endpoint. boto's text is not reported: it may quote a property.
            raise ConfigError(
                f"the file system's properties are invalid for an S3 client: {type(error).__name__}",
                expected="an endpoint with http:// or https://, a region, and both or neither of accessKey "
                "and secretKey",
            ) from None

    def __repr__(self) -> str:
        return f"S3Store(endpoint={self._endpoint!r})"

    def list(self, directory_uri: str) -> Iterator[FileInfo]:
        """List all objects below a prefix, in pages of 1,000."""
        bucket, prefix = _split(directory_uri.rstrip("/") + "/")
        pages = self._s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        empty_pages = 0
        try:
            for page in pages:
                empty_pages = 0 if page.get("Contents") else empty_pages + 1
                if empty_pages > _MOST_EMPTY_PAGES:
                    raise KeyError("Contents")  # a listing without an end
                if page["IsTruncated"] and not page["NextContinuationToken"]:
                    raise KeyError("NextContinuationToken")
                for item in page.get("Contents", ()):
                    if not item["Key"].startswith(prefix):
                        raise KeyError("Key")
                    if item["Key"].endswith("/") and not item["Size"]:
                        continue  # a folder marker, not a file
                    modified_ms = int(item["LastModified"].timestamp() * 1000)
                    yield FileInfo(
                        f"s3://{bucket}/{item['Key']}", item["Size"], modified_ms, item["ETag"].strip('"')
                    )
        except (*_FAULTS, KeyError) as error:
            self._fail("list", directory_uri, error)

    @contextmanager
    def local_copy(self, file: FileInfo, work_dir: Path) -> Iterator[Path]:
        """Download the listed object (If-Match on its ETag), and delete the copy afterwards."""
        bucket, key = _split(file.uri)
        path = work_dir / file.copy_name
        try:
            _write(self._s3.get_object(Bucket=bucket, Key=key, IfMatch=file.etag or "*"), path)
            came_bytes = path.stat().st_size
            if came_bytes != file.size_bytes:
                raise SourceChangedError(
                    f"{file.shown} was listed with {file.size_bytes} bytes, but the download has "
                    f"{came_bytes}",
                    remedy="run the task again",
                )
            yield path
        except ClientError as error:
            code = _code(error)
            if code in ("412", "PreconditionFailed"):
                raise SourceChangedError(
                    f"{file.shown} was replaced after it was listed (its ETag is no longer {file.etag})",
                    remedy="run the task again; it will read the current file",
                ) from error
            if code in _MISSING:
                raise SourceChangedError(f"{file.shown} was removed after it was listed") from error
            self._fail("read", file.uri, error)
        except _FAULTS as error:
            self._fail("read", file.uri, error)
        finally:
            path.unlink(missing_ok=True)

    def upload(self, path: Path, uri: str) -> None:
        """Upload a file, in parts if it is large; S3 shows it atomically."""
        bucket, key = _split(uri)
        try:
            with path.open("rb") as content:
                self._s3.upload_fileobj(content, bucket, key)
        except _FAULTS as error:
            self._fail("write", uri, error)

    def download(self, uri: str, path: Path) -> None:
        """Download an object to a local path."""
        bucket, key = _split(uri)
        try:
            # Not boto's download_file: its first request is a HEAD, whose errors have a status but no code.
            _write(self._s3.get_object(Bucket=bucket, Key=key), path)
        except _FAULTS as error:
            self._fail("read", uri, error)

    def size_bytes(self, uri: str) -> int | None:
        """Return an object's size; None if it does not exist."""
        bucket, key = _split(uri)
        try:
            return self._s3.head_object(Bucket=bucket, Key=key)["ContentLength"]
        except (*_FAULTS, KeyError) as error:
            if _code(error) in _MISSING:
                return None
            self._fail("read", uri, error)

    def move(self, source_uri: str, target_uri: str) -> bool:
        """Copy an object within S3, in parts if it is large, then delete it; return whether it exists."""
        size_bytes = self.size_bytes(source_uri)
        if size_bytes is None:
            return False
        source_bucket, source_key = _split(source_uri)
        bucket, key = _split(target_uri)
        try:
            self._s3.copy({"Bucket": source_bucket, "Key": source_key}, bucket, key)
        except _FAULTS as error:
            self._fail("copy", source_uri, error)
        check_copied(source_uri, target_uri, size_bytes, self.size_bytes(target_uri))
        self.delete(source_uri)
        return True

    def delete(self, uri: str) -> None:
        """Delete an object."""
        bucket, key = _split(uri)
        try:
            self._s3.delete_object(Bucket=bucket, Key=key)
        except _FAULTS as error:
            self._fail("delete", uri, error)

    def delete_tree(self, directory_uri: str) -> int:
        """Delete all objects below a prefix, up to 1,000 per call."""
        bucket, _ = _split(directory_uri)
        keys = [_split(info.uri)[1] for info in self.list(directory_uri)]
        for start in range(0, len(keys), 1000):
            chunk = keys[start : start + 1000]
            try:
                answer = self._s3.delete_objects(
                    Bucket=bucket, Delete={"Objects": [{"Key": key} for key in chunk], "Quiet": True}
                )
            except _FAULTS as error:
                self._fail("delete", directory_uri, error)
            if answer.get("Errors"):
                first = answer["Errors"][0]
                key, code = visible(first.get("Key", "?")), self._shown(first.get("Code"))
                raise SourceError(
                    f"s3://{bucket}/{key} could not be deleted: {code}",
                    where=f"{visible(directory_uri)} (endpoint {self._endpoint})",
                    remedy="check the bucket's policy, then run again",
                )
        return len(keys)

    def _fail(self, verb: str, uri: str, error: Exception) -> NoReturn:
        """Translate boto's error; its text may contain the access key, so only its code is reported."""
        code = _code(error) if isinstance(error, ClientError) else type(error).__name__
        uri = visible(uri)
        where = f"{uri} (endpoint {self._endpoint})"
        reason, did = self._shown(code), "refused" if isinstance(error, ClientError) else "failed"
        if isinstance(error, KeyError):
            did, reason, remedy = "failed", f"its reply lacks a valid {error.args[0]}", BROKEN_REPLY
        elif isinstance(error, ReplyTooLongError):
            did, reason, remedy = "failed", str(error), TOO_LONG
        elif code == _INCOMPLETE or isinstance(error, (ResponseParserError, PaginationError)):
            did, reason, remedy = "failed", "its reply is not complete", BROKEN_REPLY
        elif code in _OVERLOADED or _http_status(error) in OVERLOADED_STATUSES:
            did, remedy = "failed", OVERLOADED
        elif code == "NoSuchBucket":
            remedy = "create the bucket or fix the URI"
        elif code in _MISSING:
            remedy = "check whether the object or its bucket was deleted"
        elif self._is_unsigned and (code in _REFUSED or _http_status(error) in (401, 403)):
            remedy = _NEEDS_KEYS
        elif code in _REFUSED or _http_status(error) in (401, 403):
            remedy = "check accessKey, secretKey and the bucket's policy"
        elif code in ("NoCredentialsError", "PartialCredentialsError"):
            remedy = (
                "set input.fs.prop.accessKey and input.fs.prop.secretKey, or the machine's own credentials"
            )
        else:
            remedy = "check that the endpoint is reachable, then run again"
        raise SourceError(f"S3 {did} to {verb} {uri}: {reason}", where=where, remedy=remedy) from None

    def _shown(self, code: str | None) -> str:
        """Return a server's code, which may contain anything."""
        return self._redact(str(code))[:_LONGEST_CODE]


class _LimitedSession:
    """Sends requests as boto's session does, but limits what is read into memory: all except files."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    def send(self, request: Any) -> Any:
        """Send a request; called by boto."""
        is_file, request.stream_output = request.stream_output, True
        response = self._session.send(request)
        success = 200 <= response.status_code < 300
        response.raw = LimitedBody(response.raw, max_reply_bytes() if success else None)
        if not is_file:
            try:
                _ = response.content
            except urllib3.exceptions.ReadTimeoutError as error:
                raise ReadTimeoutError(endpoint_url=request.url, error=error) from error
            except urllib3.exceptions.HTTPError as error:
                raise ConnectionClosedError(endpoint_url=request.url, error=error) from error
        return response


def goes_unsigned(endpoint: str, *, has_own_keys: bool) -> bool:
    """Whether requests to an endpoint have no keys: it came with none, and the machine's are for others.

    The machine's keys are meant for AWS, and for the endpoint that the machine names.

    Args:
        endpoint: The address.
        has_own_keys: Whether its owner gave keys with it.
    """
    if has_own_keys or _OF_AWS.fullmatch(endpoint):
        return False
    key, secret = _UNUSED_KEYS
    client = _session().client(
        "s3", region_name="us-east-1", aws_access_key_id=key, aws_secret_access_key=secret
    )
    named = client.meta.endpoint_url
    return not may_receive(endpoint, (Origin.of(named),))


@functools.cache
def _session() -> boto3.session.Session:
    """Return the process's session, which differs from boto3's own in how it parses times.

    botocore's general parser for times takes more than two thirds of the time to parse a listing.
    """
    session = botocore.session.get_session()
    session.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=_time)
    return boto3.session.Session(botocore_session=session)


def _replace_incomplete(operation_model: Any, response_dict: dict[str, Any], **_: Any) -> None:
    """Replace a reply that is neither the operation's document nor an error's, or not all of it, by an error.

    boto takes an empty body for a page without objects. If the body is not XML, it has set the status to 500.
    """
    end, body = _DOCUMENTS[operation_model.name], response_dict["body"]
    if response_dict["status_code"] in (200, 500) and not end.search(body) and not _IS_ERROR.match(body):
        response_dict["status_code"] = 500
        response_dict["body"] = f"<Error><Code>{_INCOMPLETE}</Code></Error>".encode()


def _time(reported: Any) -> datetime:
    try:
        found = datetime.fromisoformat(reported)
    except (TypeError, ValueError):
        return parse_timestamp(reported)
    return found if found.tzinfo else parse_timestamp(reported)


def _write(answer: GetObjectOutputTypeDef, path: Path) -> None:
    with path.open("wb") as out:
        for chunk in answer["Body"].iter_chunks(1 << 20):
            out.write(chunk)


def _code(error: Exception) -> str:
    return (
        str(error.response.get("Error", {}).get("Code", "unknown"))
        if isinstance(error, ClientError)
        else "unknown"
    )


def _http_status(error: Exception) -> int | None:
    if not isinstance(error, ClientError):
        return None
    return error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")


def _split(uri: str) -> tuple[str, str]:
    """Return bucket and key; a key may contain any character: ``#``, ``?``, ``%``, slashes."""
    bucket, _, key = uri.partition("://")[2].partition("/")
    if not bucket:
        raise SourceError(f"the URI {visible(uri)!r} contains no bucket", expected="s3://bucket/folder/")
    return bucket, key
