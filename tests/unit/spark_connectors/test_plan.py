from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import LongType, StructField, StructType

from controller_client.errors import ConfigError
from controller_client.models.base import PinotModel
from jvm_bridge.builder.model import check_segment_name
from spark_connectors.options import WriteOptions, parse_options
from spark_connectors.write.plan import WritePlan
from tests.unit.controller_client.scripted_server import ScriptedServer, answer

PLAN = WritePlan(
    options=parse_options(
        WriteOptions,
        {"controller": "http://localhost:9000", "table": "t", "fs.prop.secretKey": "do-not-tell"},
    ),
    frame=StructType([StructField("id", LongType())]),
    overwrite=False,
    config_document={"tableName": "a.b_spark_c", "tableType": "OFFLINE"},
    schema_document={"schemaName": "t", "dimensionFieldSpecs": [{"name": "id", "dataType": "LONG"}]},
    write_id="mine",
    nonce="0123abcd",
    staging_uri="s3://bucket/staging/spark-writes/t_OFFLINE/0123abcd",
)


@given(write_id=st.text(min_size=1), partition=st.integers(0, 10**6), number=st.integers(0, 10**4))
def test_names_identify_the_write_and_the_attempt(write_id: str, partition: int, number: int) -> None:
    plan = replace(PLAN, write_id=write_id)
    name = plan.segment_name(partition, number)
    check_segment_name(name)
    assert name.startswith(plan.names_prefix)
    assert plan.nonce_of(name) == plan.nonce
    assert not name.startswith(replace(plan, write_id=f"{write_id} ").names_prefix)


def test_columns_that_the_dataframe_is_allowed_to_lack_may_become_empty() -> None:
    fields = [*PLAN.schema_document["dimensionFieldSpecs"], {"name": "city", "dataType": "STRING"}]
    given = {"controller": "http://localhost:9000", "table": "t", "maxMissingColumns": "1"}
    plan = replace(
        PLAN,
        options=parse_options(WriteOptions, {**given, "checks.mayBecomeEmpty": "id"}),
        schema_document={**PLAN.schema_document, "dimensionFieldSpecs": fields},
    )
    assert plan.checks().may_become_empty == {"id", "city"}


def test_foreign_names_have_no_nonce() -> None:
    for name in ("a.b_spark_c_0", "a.b_spark_c_spark_x_0123abcd_00000_000", "axb_spark_c_spark_" + "0" * 16):
        assert PLAN.nonce_of(name) is None


def test_the_staging_folder_of_another_attempt() -> None:
    assert PLAN.staging_uri_of("ffffffff") == "s3://bucket/staging/spark-writes/t_OFFLINE/ffffffff"


def test_a_table_that_cannot_be_written_is_refused_first() -> None:
    config = {**PLAN.config_document, "tableName": "t", "upsertConfig": {"mode": "FULL"}}
    for overwrite in (False, True):
        with ScriptedServer(answer(200, {"OFFLINE": config}), answer(200, PLAN.schema_document)) as server:
            options = parse_options(WriteOptions, {"controller": server.url, "table": "t"})
            with pytest.raises(ConfigError, match="t_OFFLINE uses Pinot's own upsert"):
                WritePlan.make(options, PLAN.frame, overwrite=overwrite)
            assert len(server.requests) == 2


def test_documents_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    real = PinotModel.from_json.__func__  # type: ignore[attr-defined]  # of a class method

    def counted(cls: type[PinotModel], document: Mapping[str, Any]) -> PinotModel:
        read.append(cls.__name__)
        made: PinotModel = real(cls, document)
        return made

    monkeypatch.setattr(PinotModel, "from_json", classmethod(counted))
    plan = replace(PLAN)
    for number in range(5):
        assert plan.nonce_of(plan.segment_name(0, number)) == plan.nonce
    plan.casts()
    plan.partitioning()
    assert sorted(read) == ["Schema", "TableConfig"]


def test_opened_stores_parsed_documents_and_secrets_are_not_pickled_or_shown() -> None:
    plan = replace(PLAN, staging_uri="file:///staging/t_OFFLINE/0123abcd")
    plain = pickle.dumps(plan)
    assert plan.table == "a.b_spark_c_OFFLINE"
    assert plan.staging_store is plan.staging_store
    assert pickle.dumps(plan) == plain
    assert pickle.loads(plain) == plan  # noqa: S301
    assert "do-not-tell" not in repr(PLAN)
