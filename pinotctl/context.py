"""What every command receives: the settings, lazily created clients and the output."""

from __future__ import annotations

import functools
import logging
from collections.abc import Mapping
from contextlib import ExitStack
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING

import click

from controller_client.common.terminal import LogFormatter
from controller_client.errors import ConfigError, NotFoundError
from pinotctl.output import Output
from pinotctl.settings import Settings

if TYPE_CHECKING:
    # At run time the command that needs them imports these: requests, pydantic and kazoo are slow to import.
    from controller_client.broker.client import BrokerClient
    from controller_client.client import ControllerClient
    from controller_client.common.console import Console
    from controller_client.config import BrokerConfig, ControllerConfig
    from controller_client.zookeeper import PropertyStore
    from controller_client.zookeeper_access import ZooKeeperAccess

__all__ = ["CliContext", "pass_cli"]

_CREDENTIALS = ("username", "password", "token", "client_cert_file", "client_key_file")
"""Settings with which this process proves to a cluster who it is."""


class CliContext:
    """State of one run of ``pinotctl``: ``ctx.obj`` of every command.

    Clients are created at their first use, shared within the run and closed at its end.

    Args:
        env: The environment to read settings from; default: that of the process.
    """

    def __init__(self, env: Mapping[str, str] | None = None) -> None:
        self.out = Output()
        self.verbose = 0
        self.entry_point: EntryPoint | None = None
        """Entry point of the innermost command: names the extra to install when a module is missing."""
        self._env = env
        self._open = ExitStack()

    def configure(self, flags: Mapping[str, str | None], profile: str | None, verbose: int) -> None:
        """Resolve the settings and set up logging; called once, with the values of the global options.

        Raises:
            ConfigError: See :class:`~pinotctl.settings.Settings`.
        """
        self.verbose = verbose
        levels = {0: logging.WARNING, 1: logging.INFO}
        handler = logging.StreamHandler()
        handler.setFormatter(LogFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        logging.basicConfig(level=levels.get(verbose, logging.DEBUG), handlers=[handler])
        if not verbose:
            # kazoo warns at each connection attempt; our error at the end reports it once.
            logging.getLogger("kazoo").setLevel(logging.CRITICAL)
        self.settings = Settings(flags, self._env, profile)

    @functools.cached_property
    def settings(self) -> Settings:
        """The settings; before :meth:`configure`, those that need no flags."""
        return Settings({}, self._env)

    def controller_config(self, url: str | None = None) -> ControllerConfig:
        """Address and credentials of the controller.

        Args:
            url: The address in a command's own flag; default: that of the settings.

        Raises:
            ConfigError: A setting is invalid, or the credentials belong to another controller.
        """
        return _controller_config(self.settings, url)

    def other_controller_config(self, url: str | None, profile: str | None) -> ControllerConfig:
        """Address and credentials of a second cluster's controller.

        Args:
            url: Its address; no credentials are sent unless the address contains them, and no client
                certificate is shown.
            profile: The profile with address and credentials, if no address is given.
        """
        if url is None and profile is not None:
            return _controller_config(Settings.of_other_cluster(profile, self._env))
        from controller_client.config import ControllerConfig, SettingReader

        def value_of(name: str) -> str | None:
            return None if name in _CREDENTIALS else self.settings.connection_value(name)

        return ControllerConfig.of(SettingReader(value_of, self.settings.spelling_of), url or "")

    def broker_config(self) -> BrokerConfig:
        """Addresses and credentials of the brokers; default: the live brokers that the controller lists."""
        from controller_client.config import BrokerConfig

        urls = self.named_brokers() or self.client().cluster.broker_urls()
        if not urls:
            raise NotFoundError(
                "the cluster has no live broker", remedy="start a broker, or name one with --broker"
            )
        return BrokerConfig.like(self.controller_config(), tuple(urls))

    def named_brokers(self) -> list[str]:
        """Addresses of brokers that the settings name; empty: those that the controller lists.

        Raises:
            ConfigError: The credentials belong to other brokers.
        """
        given = self.settings.value("broker")
        if not given:
            return []
        self.settings.check_owner(_secret_in_use(self.settings), "broker")
        return [url.strip() for url in given.split(",")]

    def default_engine(self) -> str | None:
        """The engine of what names none: ``spark``; None: the embedded one of each command.

        Raises:
            ConfigError: The setting is another word.
        """
        from controller_client.common.parallel import default_engine

        engine = self.settings["engine"]
        return default_engine(engine.value, engine.source)

    def client(self) -> ControllerClient:
        """The client of the controller's REST API."""
        return self._client

    def console(self) -> Console:
        """Links into the console of the controller."""
        from controller_client.common.console import Console

        return Console(self.controller_config().urls[0])

    def broker(self) -> BrokerClient:
        """The client of the broker's SQL endpoint."""
        return self._broker

    def property_store(self) -> PropertyStore:
        """The property store in ZooKeeper, connected.

        Raises:
            NotFoundError: The controller does not report its ZooKeeper's address and ``--zookeeper`` is not
                given.
            UnreachableError: ZooKeeper does not answer.
        """
        return self._property_store

    def own_session(self, timeout_s: float) -> PropertyStore:
        """A property store with its own session, for leases and locks, which end with the session.

        Args:
            timeout_s: Seconds without a heartbeat after which ZooKeeper ends the session.

        Raises:
            NotFoundError: As for :meth:`property_store`.
            UnreachableError: ZooKeeper does not answer.
        """
        return self._open.enter_context(self._store_of(timeout_s))

    def zookeeper_access(self, address: str | None = None) -> ZooKeeperAccess:
        """How to connect and authenticate to ZooKeeper.

        Args:
            address: The address in a command's own flag; default: that of the settings.

        Raises:
            ConfigError: The settings contradict each other, or the password belongs to another ZooKeeper.
        """
        self.settings.check_owner(
            "zookeeper_password", "zookeeper", given=self.settings.as_flag("zookeeper", address)
        )
        from controller_client.config import SettingReader
        from controller_client.zookeeper_access import ZooKeeperAccess

        return ZooKeeperAccess.of(SettingReader(self.settings.connection_value, self.settings.spelling_of))

    def close(self) -> None:
        """Close the clients that were created."""
        self._open.close()

    @functools.cached_property
    def _client(self) -> ControllerClient:
        from controller_client.client import ControllerClient

        return self._open.enter_context(ControllerClient(self.controller_config()))

    @functools.cached_property
    def _broker(self) -> BrokerClient:
        from controller_client.broker.client import BrokerClient

        return self._open.enter_context(BrokerClient(self.broker_config()))

    @functools.cached_property
    def _property_store(self) -> PropertyStore:
        return self._open.enter_context(self._store_of(None))

    def _store_of(self, session_timeout_s: float | None) -> PropertyStore:
        from controller_client.zookeeper import PropertyStore

        access = self.zookeeper_access()
        address = self.settings.value("zookeeper") or self.client().cluster.zookeeper_for(access)
        if not address:
            raise NotFoundError(
                "the controller does not report the address of its ZooKeeper",
                remedy="pass --zookeeper host:port[/chroot] or set PINOT_ZOOKEEPER",
            )
        name = self.settings.value("cluster_name") or self.client().cluster.name()
        return PropertyStore(address, name, access=access, session_timeout_s=session_timeout_s)


def _controller_config(settings: Settings, flag: str | None = None) -> ControllerConfig:
    from controller_client.config import ControllerConfig, SettingReader

    url = flag or settings.value("controller")
    if url is None:
        raise ConfigError(
            "no controller address is given", remedy="pass --controller or set PINOT_CONTROLLER_URL"
        )
    credentials = _secret_in_use(settings)
    settings.check_owner(credentials, "controller", given=settings.as_flag("controller", flag))
    unused = ("token",) if credentials == "password" else ("username", "password")

    def value_of(name: str) -> str | None:
        return None if name in unused else settings.connection_value(name)

    return ControllerConfig.of(SettingReader(value_of, settings.spelling_of), url)


def _secret_in_use(settings: Settings) -> str:
    """Return the name of the stronger credentials' setting: ``token`` or ``password``.

    A token and a user may both be set by sources of different rank: a token on the command line, a user in
    the profile.

    Raises:
        ConfigError: Both are equally strong, or one of user and password is missing.
    """
    user, password, token = (settings[name] for name in ("user", "password", "token"))
    basic_rank = max(user.rank, password.rank)
    if token.value is not None and token.rank >= basic_rank:
        if token.rank == basic_rank:
            raise ConfigError(
                "both a token and a user or password are given",
                expected="only one of them",
                where=f"{token.source}; {(user if user.rank >= password.rank else password).source}",
            )
        return "token"
    if (user.value is None) != (password.value is None):
        missing, given = (user, password) if user.value is None else (password, user)
        raise ConfigError(
            f"a {given.setting.name} is set ({given.source}), but no {missing.setting.name}",
            remedy=f"pass {missing.setting.flag} or set {missing.setting.env}",
        )
    return "password"


pass_cli = click.make_pass_decorator(CliContext)
"""Decorator: the command's first parameter is the run's :class:`CliContext`."""
