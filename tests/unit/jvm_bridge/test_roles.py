from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from controller_client.errors import ConfigError, SetupError
from jvm_bridge.jars import JarSet
from jvm_bridge.jdk import Java
from jvm_bridge.local_cluster import HOST, ClusterPorts, KafkaPorts, LocalCluster
from jvm_bridge.local_cluster.roles import RoleRunner, plan_roles
from jvm_bridge.local_cluster.settings import LocalClusterSettings

FOLDER = Path("/data/cluster")
PORTS = ClusterPorts.from_base(21000, servers=2)


PORTS_WITH_KAFKA = replace(PORTS, kafka=KafkaPorts.from_base(21000))


def runner() -> RoleRunner:
    java = Java(Path("/jdk"), Path("/jdk/bin/java"), 17, "17.0.1", "JAVA_HOME")
    pinot = JarSet("0.11.0", (Path("/b.jar"), Path("/a.jar")), "test")
    kafka = JarSet("3.9.1", (Path("/k.jar"),), "test")
    return RoleRunner(FOLDER, PORTS_WITH_KAFKA, java, pinot, 300.0, kafka)


def test_roles_in_the_order_of_their_start() -> None:
    roles = plan_roles(FOLDER, PORTS)
    assert [(role.name, role.instance) for role in roles] == [
        ("zookeeper", None),
        ("controller", f"Controller_{HOST}_21001"),
        ("broker", f"Broker_{HOST}_21002"),
        ("server-1", f"Server_{HOST}_21010"),
        ("server-2", f"Server_{HOST}_21013"),
        ("minion", f"Minion_{HOST}_21003"),
    ]


def test_kafka_is_a_role_where_it_has_ports() -> None:
    names = [role.name for role in plan_roles(FOLDER, PORTS_WITH_KAFKA)]
    assert names[:3] == ["zookeeper", "kafka", "controller"]
    kafka = plan_roles(FOLDER, PORTS_WITH_KAFKA)[1]
    assert (kafka.port, kafka.instance) == (21004, None)
    listeners = kafka.properties["listeners"].split(",") + kafka.properties["advertised.listeners"].split(",")
    assert {listener.split("://")[1].split(":")[0] for listener in listeners} == {HOST}


def test_each_port_belongs_to_one_role() -> None:
    ports = [port for role in plan_roles(FOLDER, PORTS_WITH_KAFKA) for port in role.ports.values()]
    assert sorted(ports) == sorted(PORTS_WITH_KAFKA.named().values())


def test_http_listeners_are_bound_to_loopback_only() -> None:
    properties = {key: value for role in plan_roles(FOLDER, PORTS) for key, value in role.properties.items()}
    hosts = {key: value for key, value in properties.items() if key.endswith("access.protocols.http.host")}
    assert len(hosts) == 3
    assert set(hosts.values()) == {HOST}
    # Pinot binds these to every address.
    assert not {"controller.port", "pinot.broker.client.queryPort", "pinot.server.adminapi.port"} & set(
        properties
    )


def test_two_servers_share_nothing() -> None:
    one, two = (role for role in plan_roles(FOLDER, PORTS) if role.name.startswith("server"))
    keys = ("netty.port", "grpc.port", "instance.dataDir", "instance.segmentTarDir")
    for key in (f"pinot.server.{key}" for key in keys):
        assert one.properties[key] != two.properties[key]


def test_command_lines_have_the_marks_and_the_ordered_class_path() -> None:
    class_paths = {"kafka": "/k.jar", "minion": None}
    for role in plan_roles(FOLDER, PORTS_WITH_KAFKA):
        words = runner().command(role)
        dash = "" if role.name == "minion" else "-D"
        assert f"{dash}pinotPlugins.cluster=/data/cluster" in words
        assert f"{dash}pinotPlugins.role={role.name}" in words
        class_path = class_paths.get(role.name, "/b.jar:/a.jar")
        if class_path is not None:
            assert words[words.index("-cp") + 1] == class_path


def test_each_role_gets_its_own_of_further_properties() -> None:
    more = {"controller.data.dir": "s3://b/c", "pinot.server.x": "1", "pinot.broker.y": "2"}
    roles = {
        role.name: role.properties
        for role in plan_roles(FOLDER, PORTS, LocalClusterSettings(properties=more))
    }
    assert roles["controller"]["controller.data.dir"] == "s3://b/c"
    for name, properties in roles.items():
        assert ("pinot.server.x" in properties) == name.startswith("server-"), name
        assert ("pinot.broker.y" in properties) == (name == "broker"), name


def test_the_minion_waits_for_the_controller_as_long_as_the_cluster_does() -> None:
    words = runner().command(plan_roles(FOLDER, PORTS)[-1])
    assert words[words.index("--wait") + 1] == "300.0"


def test_the_minion_has_the_heap_of_the_settings() -> None:
    for settings, heap_mb in ((None, "512"), (LocalClusterSettings(minion_heap_mb=2048), "2048")):
        minion = plan_roles(FOLDER, PORTS, settings)[-1]
        words = runner().command(minion)
        assert words[words.index("--max-heap-mb") + 1] == heap_mb


def test_hosted_roles_have_the_options_of_stock_ones() -> None:
    hosted = replace(runner(), settings=LocalClusterSettings(hosted=True))
    for role in plan_roles(FOLDER, PORTS_WITH_KAFKA):
        if not role.name.startswith(("broker", "server-")):
            assert hosted.command(role) == runner().command(role)
            assert hosted.environment(role) == runner().environment(role)
            continue
        words = hosted.command(role)
        assert words[-4:-1] == ["serve", role.name.partition("-")[0], "-configFileName"]
        assert f"pinotPlugins.role={role.name}" in words
        options = hosted.environment(role)["JAVA_OPTS"].split()
        assert options
        assert set(options) <= set(runner().command(role))


@pytest.mark.parametrize("name", ["a b", "a,b", "a$b", "a%20b", "ä", "a\\b"])
def test_folder_names_that_pinot_does_not_support(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="characters") as caught:
        LocalCluster(tmp_path / name).up()
    assert caught.value.where == str(tmp_path / name)
    assert not (tmp_path / name).exists()


def test_a_folder_without_a_cluster(tmp_path: Path) -> None:
    for call in (LocalCluster(tmp_path).status, LocalCluster(tmp_path).down):
        with pytest.raises(SetupError, match="no local cluster"):
            call()
    assert list(tmp_path.iterdir()) == []
