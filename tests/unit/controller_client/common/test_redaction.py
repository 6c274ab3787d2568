"""What counts as secret, and how it is masked in text."""

from __future__ import annotations

import base64
import html
import json
import re
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.common.redaction import MASK, Redactor, is_secret, mask_text, masked


@pytest.mark.parametrize(
    "key",
    [
        *("pinot.server.storage.factory.s3.secretKey", "pinot.server.storage.factory.s3.accessKey"),
        *("sasl.jaas.config", "ssl.keystore.password", "ssl.keystore.key", "basic.auth.user.info"),
        *("stream.pulsar.authenticationToken", "connectionString", "accountKey", "PASSWD", "clientSecret"),
        *("input.fs.prop.gcpKey", "input.fs.prop.sasToken", "schema.registry.authorization"),
        *("sasl.pwd", "DB_PWD", "userPwd", "pwd", "passcode", "amqp.pass", "pass", "sharedAccessSignature"),
    ],
)
def test_keys_of_secrets(key: str) -> None:
    assert is_secret(key)
    assert masked({key: "hush"}) == {key: MASK}


@pytest.mark.parametrize(
    "key",
    [
        "stream.kafka.topic.name",
        "key.deserializer",
        "sasl.mechanism",
        "primaryKeyColumns",
        "ssl.keystore.location",
        *("PWD", "OLDPWD", "bypass", "multi.passes", "compass", "authorization.endpoint"),
    ],
)
def test_keys_of_other_settings(key: str) -> None:
    assert not is_secret(key, "a", None)
    assert masked({key: "http://me:hush@host/x"}) == {key: f"http://{MASK}@host/x"}
    assert is_secret(key, "a", "http://me:hush@host/x")


@pytest.mark.parametrize(
    "text",
    [
        "InstanceDataManagerConfig, key: pinot.server.storage.factory.s3.secretKey , value: hush, hush}",
        "External config key: storage.factory.s3.SECRETKEY, value: hush hush",
        "Start running FileIngestionTask: x with configs: {input.fs.prop.secretKey=hush, b=c}",
        'Invalid table config: {"secretKey":"hush\\"hush","b":1}',
        r'{"error":"Invalid: {\"secretKey\":\"hush\",\"b\":1}"}',
        'sasl.jaas.config=org.example.Login required username="me" password="hush hush";',
        "Authorization: Basic aHVzaDpodXNo1",
        "authorization: bearer aHVzaDpodXNo1.aHVzaDpodXNo2",
        "GET http://me:hush@host/x",
        "https://bucket/key?X-Amz-Signature=hush&X-Amz-Credential=hush%2F2020&x=1",
        "secretKey -> hush",
        "password: hush",
        "sasl.pwd=hush",
        "https://account.blob.core.windows.net/c/b?sv=2020&sig=hush%2Bhush&se=x",
        "-----BEGIN RSA PRIVATE KEY-----\nDEK-Info: AES-256,hush\n\nhush\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\\nhush+hush/hush==",
        "value eyJhbGciOiJIUzI1NiJ9hush.eyJzdWIiOiJtZSJ9hush.c2lnbmVkhush for it",
    ],
)
def test_what_looks_secret_in_a_text_is_masked(text: str) -> None:
    shown = mask_text(text)
    assert "hush" not in shown
    assert "aHVzaDpodXNo" not in shown
    assert MASK in shown


@pytest.mark.parametrize(
    "text",
    [
        "Unexpected token: FROM at line 1",
        "Basic authentication failed for user me",
        "Basic Authentication is required",
        "no such column: key",
        "Cannot find AwsCredentialsProvider=[X] in the chain",
        "http://host/x@y",
        "{primaryKeyColumns=[a, b], tableName=t}",
        "Groovy({user_token == null ? 0 : 1}, user_token)",
        "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
        "eyJhbGciOiJIUzI1NiJ9 and eyJ.eyJ.eyJ",
    ],
)
def test_text_without_secrets_stays(text: str) -> None:
    assert mask_text(text) == text


@pytest.mark.parametrize(
    "piece",
    [
        *("a", "secret", "secret.", "secret=", "://", "Basic ", '"', "token\\", "secret ", " ", "\\"),
        *(
            "eyJ",
            "eyJaaaaaaaa.",
            "-eyJ",
            "-",
            "-----BEGIN PRIVATE KEY-----",
            "-----BEGIN A ",
            "?sig=",
            "_pwd",
        ),
    ],
)
def test_the_search_time_is_linear_in_the_text(piece: str, full: bool) -> None:
    # A quadratic search would take minutes here.
    text = piece * (200_000 if full else 50_000)
    mask_text(f'secret="{text}')
    mask_text(text)


def _lower(quoted: str) -> str:
    return re.sub("%..", lambda match: match[0].lower(), quoted)


_SECRETS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), min_size=8).filter(
    str.strip
)


@given(_SECRETS)
def test_a_known_secret_is_masked_in_all_its_forms(secret: str) -> None:
    redact = Redactor((secret, f"me:{secret}"))
    data = f"me:{secret}".encode()
    for form in (
        *(secret, quote(secret), quote(secret, safe=""), quote_plus(secret), _lower(quote(secret, safe=""))),
        *(json.dumps(secret), json.dumps(secret, ensure_ascii=False), html.escape(secret)),
        *(base64.b64encode(data).decode(), base64.urlsafe_b64encode(data).decode().rstrip("=")),
        base64.b64encode(secret.encode()).decode(),
    ):
        bare = form.strip('"').strip()
        assert bare not in redact(f"the header was {form}, sorry")
    assert secret not in repr(redact)


def test_without_known_secrets_a_text_is_unchanged() -> None:
    assert Redactor()("some text") == "some text"
    assert Redactor(["", ""])("some text") == "some text"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Basic dXNlcjpwYXNzd29yZA==", True),
        ("Bearer eyJhbGciOiJIUzI1NiJ9", True),
        ("org.example.Login required password='x';", True),
        ("plain text", False),
        ("", False),
        (None, False),
    ],
)
def test_a_setting_is_secret_by_the_content_of_its_value(value: str | None, expected: bool) -> None:
    assert is_secret("some.key", "x", value) is expected
