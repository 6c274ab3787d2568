"""How the key coordinator reads a table's config."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from controller_client.errors import ConfigError, SetupError
from controller_client.stream.config import StreamConfig
from key_coordinator.plan import RANK_FUNCTIONS, message_format, rank_function
from key_coordinator.reading.recipe import MessageFormat
from tests.support.installed import install

_AVRO = "org.apache.pinot.plugin.inputformat.avro"


def decoder(name: str, schema: str | None = None) -> StreamConfig:
    more = {} if schema is None else {"stream.kafka.decoder.prop.schema": schema}
    return StreamConfig({"stream.kafka.decoder.class.name": name, **more})


def test_the_decoder_determines_the_format_of_messages() -> None:
    json = "org.apache.pinot.plugin.stream.kafka.KafkaJSONMessageDecoder"
    confluent = f"{_AVRO}.confluent.KafkaConfluentSchemaRegistryAvroMessageDecoder"
    assert message_format(decoder(json), None) == MessageFormat()
    assert message_format(decoder(f"{_AVRO}.SimpleAvroMessageDecoder", "{}"), None) == MessageFormat("{}")
    given = message_format(decoder(confluent, "{}"), '{"a": 1}')
    assert given == MessageFormat('{"a": 1}', confluent=True)
    registry = "stream.kafka.decoder.prop.schema.registry"
    asked = decoder(confluent).changed(
        {f"{registry}.rest.url": "http://r", f"{registry}.basic.auth.user.info": "me:secret"}
    )
    asked = asked.changed({"streamType": "kafka", "stream.kafka.topic.name": "rows"})
    found = message_format(asked, None, ["others-value"])
    subjects = ("rows", "others-value")
    assert found == MessageFormat(None, "http://r", "me:secret", confluent=True, subjects=subjects)
    assert "secret" not in repr(found)
    with pytest.raises(ConfigError, match="schema of the table's Avro messages"):
        message_format(decoder(confluent), None)
    with pytest.raises(ConfigError, match="cannot read messages of the decoder ProtoBufMessageDecoder"):
        message_format(decoder("org.apache.pinot.plugin.ProtoBufMessageDecoder"), None)


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], set[str]]:
    """Installed rank functions, some of which cannot be loaded; returns the modules imported since."""
    (tmp_path / "ranks_of_a_test.py").write_text("def newest(records):\n    return records\n\n\nvalue = 7\n")
    (tmp_path / "ranks_that_raise.py").write_text("raise SystemError('not here')\n")
    points = {
        "newest": "ranks_of_a_test:newest",
        "ranks_of_a_test:newest": "ranks_of_a_test:newest",
        "value": "ranks_of_a_test:value",
        "no-such": "ranks_of_a_test:no_such",
        "raises": "ranks_that_raise:newest",
        "twice": "ranks_of_a_test:newest",
    }
    install(tmp_path, "ranks-of-a-test", {RANK_FUNCTIONS: points})
    install(
        tmp_path, "other-ranks", {RANK_FUNCTIONS: {"twice": "other_ranks:newest", "lacks": "other_ranks:f"}}
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("ranks_of_a_test", "ranks_that_raise"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    before = set(sys.modules)
    return lambda: set(sys.modules) - before


@pytest.mark.parametrize("name", ["newest", "ranks_of_a_test:newest"])
def test_a_registered_rank_function_is_imported(name: str, imported: Callable[[], set[str]]) -> None:
    assert rank_function(name)("records") == "records"  # type: ignore[arg-type]
    assert imported() == {"ranks_of_a_test"}


@pytest.mark.parametrize(
    "name",
    ["subprocess:call", "ranks_of_a_test:value", "ranks_of_a_test", "other_ranks:newest", "", ":f", "./x"],
)
def test_a_rank_function_that_is_not_registered_is_refused_before_any_import(
    name: str, imported: Callable[[], set[str]]
) -> None:
    with pytest.raises(SetupError, match="no installed package registers") as refused:
        rank_function(name)
    assert repr(name) in refused.value.message
    assert "newest, no-such" in str(refused.value.expected)
    assert RANK_FUNCTIONS in str(refused.value.remedy)
    assert not imported()


def test_a_name_with_two_functions_is_refused(imported: Callable[[], set[str]]) -> None:
    with pytest.raises(SetupError, match="more than once: other_ranks:newest, ranks_of_a_test:newest"):
        rank_function("twice")
    assert not imported()


@pytest.mark.usefixtures("imported")
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("value", "is a int"),
        ("no-such", "cannot be imported: AttributeError"),
        ("raises", "cannot be imported: SystemError: not here"),
        ("lacks", "needs the Python module other_ranks"),
    ],
)
def test_a_rank_function_that_cannot_be_loaded_is_an_error(name: str, reason: str) -> None:
    with pytest.raises(SetupError, match=reason):
        rank_function(name)
