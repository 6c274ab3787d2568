"""Registers a hosted minion in Helix before it joins, so that it never gets work for stock minions."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import jpype

from controller_client.errors import NotFoundError
from controller_client.rest.instances import DRAINED

__all__ = ["Registration", "register"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Registration:
    """The registration of a minion in Helix.

    Attributes:
        instance_id: Its instance name.
        host: Its host.
        port: Port of its admin API.
        tag: Its only tag.
        concurrency: Number of subtasks that it runs at once.
    """

    instance_id: str
    host: str
    port: int
    tag: str
    concurrency: int


def register(zookeeper_address: str, cluster_name: str, registration: Registration) -> None:
    """Create or update the minion's InstanceConfig.

    An instance that joins without one gets Pinot's default tag, and with it subtasks of types that only stock
    minions support, which would go into ERROR. A drained instance (Pinot 1.5 and later) stays drained.

    Raises:
        NotFoundError: There is no such cluster.
    """
    admin = jpype.JClass("org.apache.helix.manager.zk.ZKHelixAdmin")(zookeeper_address)
    try:
        clusters = [str(name) for name in admin.getClusters()]
        if cluster_name not in clusters:
            raise NotFoundError(
                f"ZooKeeper has no Pinot cluster {cluster_name}",
                expected=f"one of {', '.join(clusters)}" if clusters else "a cluster created by a controller",
                where=zookeeper_address,
                remedy="start the controller first; check --zookeeper and --cluster-name",
            )
        registered = [str(name) for name in admin.getInstancesInCluster(cluster_name)]
        if registration.instance_id in registered:
            config = admin.getInstanceConfig(cluster_name, registration.instance_id)
            _fill(config, registration)
            admin.setInstanceConfig(cluster_name, registration.instance_id, config)
        else:
            config = jpype.JClass("org.apache.helix.model.InstanceConfig")(registration.instance_id)
            config.setInstanceEnabled(True)
            _fill(config, registration)
            admin.addInstance(cluster_name, config)
    finally:
        admin.close()


def _fill(config: Any, registration: Registration) -> None:
    config.setHostName(registration.host)
    config.setPort(str(registration.port))
    config.setMaxConcurrentTask(registration.concurrency)
    tags = [str(tag) for tag in config.getTags()]
    if DRAINED in tags:
        logger.warning(
            "%s is drained and gets no subtasks until it is enabled: PUT /instances/%s/state?state=ENABLE",
            registration.instance_id,
            registration.instance_id,
        )
        return
    for tag in tags:
        config.removeTag(tag)
    config.addTag(registration.tag)
