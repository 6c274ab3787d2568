"""Checks of the values for Pinot's own chart and of the KEDA example."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller_client.helix.unfinished_subtasks import Unfinished
from controller_client.monitoring import Monitoring
from controller_client.monitoring.catalogue import QUEUE
from jvm_bridge.minion import DEFAULT_TAG
from pinotctl.commands.queue_waiting import publish_subtasks, waiting
from pinotctl.commands.serve.broker import broker
from pinotctl.commands.serve.minion import minion
from pinotctl.commands.serve.server import server
from pinotctl.container import PinotAdmin, Pinotctl, command_of

DOCKER = Path(__file__).parents[3] / "docker"
KUBERNETES = DOCKER / "kubernetes"
VALUES = sorted(path.name for path in KUBERNETES.glob("values-*.yaml"))

# Keys of values.yaml in the chart pinot 0.3.6-SNAPSHOT, of Pinot 1.5.1, which its templates put into what our
# files are about. "*" stands for each role.
OF_THE_CHART = {
    *("image.repository", "image.tag", "image.pullPolicy", "terminationGracePeriodSeconds"),
    *("*.startCommand", "*.podSecurityContext", "*.securityContext", "*.extraEnv", "*.extra.configs"),
    "*.podAnnotations",
    *("*.probes.endpoint", "*.probes.livenessEnabled", "*.probes.readinessEnabled"),
    *("*.probes.startupEnabled", "*.pdb.enabled", "*.pdb.maxUnavailable"),
    *("minion.enabled", "minion.replicaCount", "minion.dataDir", "minion.persistence.enabled"),
    *(
        f"*.probes.{probe}.{key}"
        for probe in ("liveness", "readiness", "startup")
        for key in ("initialDelaySeconds", "failureThreshold")
    ),
    *(f"server.probes.{probe}.endpoint" for probe in ("liveness", "readiness", "startup")),
}
ROLES = {"controller", "broker", "server", "minion", "minionStateless"}
# Free form: what is below them is Kubernetes', not the chart's.
FREE = {"podSecurityContext", "securityContext", "podAnnotations"}


def values(*names: str) -> dict[str, Any]:
    """Merge files as Helm does: later ones override earlier ones."""

    found: dict[str, Any] = {}
    for name in names:
        _merge(found, yaml.safe_load((KUBERNETES / name).read_text(encoding="utf-8")))
    return found


def _merge(below: dict[str, Any], above: Mapping[str, Any]) -> None:
    for key, value in above.items():
        if isinstance(value, dict) and isinstance(below.get(key), dict):
            _merge(below[key], value)
        else:
            below[key] = value


def _keys(tree: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[str]:
    for key, value in tree.items():
        here = (*path, key)
        if isinstance(value, dict) and key not in FREE:
            yield from _keys(value, here)
        else:
            yield ".".join(here)


@pytest.mark.parametrize("name", VALUES)
def test_the_chart_has_every_key(name: str) -> None:
    for key in _keys(values(name)):
        first, _, rest = key.partition(".")
        assert key in OF_THE_CHART or (first in ROLES and f"*.{rest}" in OF_THE_CHART), key


def test_the_image_alone_changes_no_role() -> None:
    found = values("values-image.yaml")
    for role in ROLES - {"controller"}:
        start = f"Start{role.removesuffix('Stateless').title()}"
        assert command_of([found[role]["startCommand"]]) == PinotAdmin((start,))


@pytest.mark.parametrize("role", ["minion", "server", "broker"])
def test_a_file_hosts_its_role_which_is_scraped_at_the_port_of_its_environment_and_no_other(
    role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stock, hosted = values("values-image.yaml"), values("values-image.yaml", f"values-{role}.yaml")
    assert {each for each in ROLES if hosted[each] != stock[each]} == {role}
    found = hosted[role]
    started = command_of([found["startCommand"]])
    assert isinstance(started, Pinotctl)
    assert started.arguments[-2:] == ("serve", role)
    environment = {each["name"]: each["value"] for each in found["extraEnv"]}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    command = {"minion": minion, "server": server, "broker": broker}[role]
    read = {option.envvar for option in command.params}
    assert environment.keys() - read == {"LOG4J_CONSOLE_LEVEL"}
    parsed = command.make_context(role, ["-zkAddress", "z:2181"]).params
    assert parsed["metrics_host"] == environment["PINOT_METRICS_HOST"] != "127.0.0.1"
    annotations = found["podAnnotations"]
    assert annotations["prometheus.io/scrape"] == "true"
    assert annotations["prometheus.io/port"] == str(parsed["metrics_port"]) != "0"


def test_a_minion_has_time_to_drain_before_it_is_killed() -> None:
    found = values("values-image.yaml", "values-minion.yaml")
    environment = {each["name"]: each["value"] for each in found["minion"]["extraEnv"]}
    assert int(environment["PINOT_MINION_DRAIN_S"]) + 30 <= found["terminationGracePeriodSeconds"]


def test_no_container_runs_as_root_and_the_dockerfile_names_no_package_index() -> None:
    found = values("values-image.yaml")
    dockerfile = (DOCKER / "Dockerfile").read_text(encoding="utf-8")
    assert not re.findall(r"https?://|pypi|pythonhosted", dockerfile)
    user, group = re.findall(r"^USER (\d+):(\d+)$", dockerfile, re.MULTILINE)[-1]
    assert re.findall(r"^USER (.*)$", dockerfile, re.MULTILINE)[-1] == f"{user}:{group}"
    for role in ROLES:
        context = found[role]["podSecurityContext"]
        assert context["runAsNonRoot"] is True
        assert (str(context["runAsUser"]), str(context["fsGroup"])) == (user, group)
    assert int(user) > 0


def test_minions_scale_by_an_existing_metric() -> None:
    deployment, scaled = yaml.safe_load_all((KUBERNETES / "keda-minions.yaml").read_text(encoding="utf-8"))
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    command = command_of(container["args"])
    assert isinstance(command, Pinotctl)
    assert command.arguments[:2] == ("queue", "waiting")
    parsed = waiting.make_context("waiting", list(command.arguments[2:])).params
    assert parsed["tags"] == (DEFAULT_TAG,)
    assert parsed["metrics_port"] == container["ports"][0]["containerPort"]

    monitoring = Monitoring(QUEUE)
    publish_subtasks(monitoring, lambda: {DEFAULT_TAG: Unfinished(1, 2)})
    metadata = scaled["spec"]["triggers"][0]["metadata"]
    ((name, tag),) = re.findall(r'sum by \(instance\) \((\w+)\{tag="(\w+)"\}\)', metadata["query"])
    found = re.findall(rf'^{name}\{{state="\w+",tag="{tag}"\}} (.*)$', monitoring.text(), re.MULTILINE)
    assert sorted(found) == ["1.0", "2.0"]

    hosted = values("values-image.yaml", "values-minion.yaml")["minion"]
    subtasks = re.findall(r"concurrent\.tasks\.per\.instance=(\d+)", hosted["extra"]["configs"])
    assert [metadata["threshold"]] == subtasks
    assert metadata["ignoreNullValues"] == "false"


def _is_closed(container: Mapping[str, Any]) -> bool:
    return container["allowPrivilegeEscalation"] is False and container["capabilities"] == {"drop": ["ALL"]}


def test_containers_have_no_rights_that_they_do_not_need() -> None:
    profile = {"type": "RuntimeDefault"}
    found = values("values-image.yaml", *(name for name in VALUES if name != "values-image.yaml"))
    for role in ROLES:
        assert _is_closed(found[role]["securityContext"]), role
        assert found[role]["podSecurityContext"]["seccompProfile"] == profile, role

    deployment, _ = yaml.safe_load_all((KUBERNETES / "keda-minions.yaml").read_text(encoding="utf-8"))
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert _is_closed(container["securityContext"])
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert pod["securityContext"]["seccompProfile"] == profile
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    empty = {volume["name"] for volume in pod["volumes"] if "emptyDir" in volume}
    mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    assert mounts.keys() == {"/tmp"}
    assert set(mounts.values()) == empty


def _steps() -> list[str]:
    text = (DOCKER / "Dockerfile").read_text(encoding="utf-8")
    return re.sub(r"\\\n\s*", "", text).splitlines()


def test_the_images_user_owns_logs_and_data_alone() -> None:
    steps = [step.removeprefix("RUN ").split(" && ") for step in _steps() if step.startswith("RUN ")]
    commands = [command.split() for step in steps for command in step]
    owned = [words[2:] for words in commands if words[:2] == ["chown", "1000:1000"]]
    assert [path for paths in owned for path in paths] == [
        *("/opt/pinot-plugins/cache", "/opt/pinot/logs"),
        *(f"/var/pinot/{role}/data" for role in ("controller", "minion", "server")),
    ]
    assert [words for words in commands if words[0] in {"chown", "chmod"} and words[-1] == "/opt/pinot"] == [
        ["chown", "0:1000", "/opt/pinot"],
        ["chmod", "1775", "/opt/pinot"],
    ]
    assert not [words for words in commands if words[0] in {"chown", "chmod"} and "-R" in words]


def test_the_images_packages_are_locked_with_their_hashes() -> None:
    (install,) = [step for step in _steps() if "pip install" in step]
    first, second = (part for part in install.split(" && ") if "pip install" in part)
    assert "--require-hashes -r /opt/uv/requirements.txt" in first
    assert "pinot_plugins-" in second
    assert all("--only-binary :all:" in part for part in (first, second))
    text = (DOCKER / "requirements.txt").read_text(encoding="utf-8")
    packages = [each for each in re.split(r"^(?=[\w.-]+==)", text, flags=re.MULTILINE) if each.strip()]
    assert len(packages) > 20
    assert [each.split()[0] for each in packages if "--hash=sha256:" not in each] == []
    of_tests = (DOCKER.parent / "requirements" / "dev.txt").read_text(encoding="utf-8")
    assert {each.split()[0] for each in packages} <= set(of_tests.split()), "run scripts/lock.sh"
