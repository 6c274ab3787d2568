"""Texts of a config that Pinot replaces by its environment are kept by whatever writes the config."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller_client.as_code import References, export_cluster, read_folder
from controller_client.as_code.objects import Kind, ObjectRef
from controller_client.deepstore.policy import StorePolicy
from controller_client.deepstore.table_plan import PeerDownloadPlan, PeerSettings, apply
from controller_client.helix.table_config import read_table_config
from controller_client.rest.capabilities import Capability
from tests.integration.as_code.table_files import table_files
from tests.support.cluster import PinotCluster
from tests.support.needs import has

pytestmark = pytest.mark.cluster

TEMPLATES = {"who": "${PINOT_PLUGINS_NO_SUCH:me}", "path": "${PATH}", "plain": "a${PATH}b"}


def test_templates_are_kept(pinot: PinotCluster, tmp_path: Path) -> None:
    with table_files(pinot, tmp_path / "files") as files:
        client, table = files.client, files.table
        files.config["metadata"] = {"customConfigs": TEMPLATES}
        files.applier().apply(files.plan())

        def written() -> dict[str, str]:
            config = read_table_config(files.store, table)
            assert config is not None
            custom: dict[str, str] = config.to_json()["metadata"]["customConfigs"]
            return custom

        assert written() == TEMPLATES
        in_use = client.tables.in_use(table).to_json()["metadata"]["customConfigs"]
        if not has(Capability.CONFIGS_AS_WRITTEN):
            assert in_use["who"] == "me"
            assert "/bin" in in_use["path"]
        assert files.plan().steps == ()

        client.tables.set_task_config(table, "SomeTask", {"dir": "${PINOT_PLUGINS_NO_SUCH:/data}"})
        client.tables.set_tenants(table, server="DefaultTenant", broker="DefaultTenant")
        config = client.tables.get(table)
        assert config.task_config("SomeTask") == {"dir": "${PINOT_PLUGINS_NO_SUCH:/data}"}
        stored = PeerSettings.of(config)
        alone = PeerSettings(stored.scheme, StorePolicy.SERVERS)
        apply(client, PeerDownloadPlan(table, stored, alone, ()))
        apply(client, PeerDownloadPlan(table, alone, stored, ()))
        assert written() == TEMPLATES

        export_cluster(client, tmp_path / "export", owner=files.name, tables=[files.name])
        exported = read_folder(tmp_path / "export").documents[ObjectRef(Kind.TABLE, table)]
        custom = exported["metadata"]["customConfigs"]
        assert {key: custom[key] for key in TEMPLATES} == TEMPLATES
        assert References({}, tmp_path).resolve(exported) == exported

        files.config["tableIndexConfig"]["invertedIndexColumns"] = ["code", "n"]
        files.config["metadata"] = {"customConfigs": {**TEMPLATES, "more": "x"}}
        files.applier().apply(files.plan())
        assert written() == {**TEMPLATES, "more": "x"}
