"""Where ``pinotctl`` gets the addresses and credentials of a cluster: from flags, environment or profile.

A flag overrides the environment, and the environment overrides the profile, setting by setting. What is set
once for a cluster, such as the access to ZooKeeper, has no flag. Passwords and tokens come from files or the
environment only: everybody on the machine can see a command line.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from controller_client.common.credential_rules import AddressSource, check_owner
from controller_client.common.parallel import ENGINE_VARIABLE
from controller_client.common.redaction import MASK, mask_text
from controller_client.connection_settings import CONNECTION_SETTINGS, ConnectionSetting
from controller_client.errors import ConfigError

__all__ = ["DEFAULT_CONTROLLER_URL", "SETTINGS", "Resolved", "Setting", "Settings", "profile_path"]

DEFAULT_CONTROLLER_URL = "http://localhost:9000"

_FILE_VARIABLES = ("PINOTCTL_CONFIG", "XDG_CONFIG_HOME")


@dataclass(frozen=True)
class Setting:
    """One setting of ``pinotctl``.

    Attributes:
        name: Name in the code and, unless it is a secret, the key in a profile.
        env: Environment variable.
        help: One line for ``--help``.
        secret: The value is masked wherever it is shown; flag and profile name a *file* that contains it.
        is_flag: Whether there is a flag for it; otherwise only the environment and the profile can set it.
        default: The default as ``--help`` shows it; empty if there is none.
    """

    name: str
    env: str
    help: str
    secret: bool = False
    is_flag: bool = True
    default: str = ""

    @property
    def key(self) -> str:
        """Key in a profile, and name of the flag's parameter."""
        return f"{self.name}_file" if self.secret else self.name

    @property
    def flag(self) -> str:
        """The command-line flag."""
        return "--" + self.key.replace("_", "-")


_FLAGS = ("controller", "broker", "zookeeper", "cluster_name", "username", "password", "token", "ca_file")
_KEYS = {"username": "user"}
"""Names that differ here from those in ``CONNECTION_SETTINGS``."""


def _setting_of(declared: ConnectionSetting) -> Setting:
    text = declared.description
    if declared.is_secret:
        text = f"File that contains the {text[0].lower()}{text[1:]}"
    default = DEFAULT_CONTROLLER_URL if declared.name == "controller" else declared.default
    return Setting(
        _KEYS.get(declared.name, declared.name),
        declared.env,
        text,
        declared.is_secret,
        declared.name in _FLAGS,
        default,
    )


SETTINGS = (
    *(_setting_of(declared) for declared in CONNECTION_SETTINGS),
    Setting(
        "engine",
        ENGINE_VARIABLE,
        "What runs the work of tasks, key coordinators and repairs that name no engine: spark or embedded.",
        is_flag=False,
        default="embedded",
    ),
)


@dataclass(frozen=True)
class Resolved:
    """The value of one setting and where it came from.

    Attributes:
        setting: The setting.
        value: Its value. For a secret this is the secret itself, so the repr omits it.
        source: Where it came from, e.g. ``flag --controller``, ``env PINOT_TOKEN``, ``not set``.
        rank: How strong the source is: 3 flag, 2 environment, 1 profile, 0 default or not set.
    """

    setting: Setting
    value: str | None
    source: str
    rank: int

    def __repr__(self) -> str:
        return f"Resolved({self.setting.name}={self.shown!r}, source={self.source!r})"

    @property
    def shown(self) -> str | None:
        """The value as it may be shown: secrets are masked, also those inside a URL."""
        if self.value is None:
            return None
        return MASK if self.setting.secret else mask_text(self.value)


class Settings(Mapping[str, Resolved]):
    """All settings of one run, resolved once.

    Args:
        flags: Values of the flags by :attr:`Setting.key`; None where a flag was not given.
        env: The environment.
        profile: Name of the profile, or None for ``default``, which need not exist.

    Raises:
        ConfigError: The profiles file is not TOML, the profile or a secret's file is missing, or a key is
            unknown.
    """

    def __init__(
        self,
        flags: Mapping[str, str | None],
        env: Mapping[str, str] | None = None,
        profile: str | None = None,
    ) -> None:
        environment = os.environ if env is None else env
        self.profile_path = profile_path(environment)
        self.profile_name = profile or environment.get("PINOT_PROFILE") or None
        values = _read_profile(self.profile_path, self.profile_name)
        self.profile_name = self.profile_name or "default"
        self._sources = (flags, environment, values)
        self._resolved = {setting.name: self._resolve(setting) for setting in SETTINGS}

    def _resolve(self, setting: Setting, strongest_rank: int = 3) -> Resolved:
        """Resolve one setting from the sources up to a rank."""
        flags, env, profile = self._sources
        flag = flags.get(setting.key)
        if flag is not None and strongest_rank >= 3:
            source = f"flag {setting.flag}"
            return Resolved(setting, _secret_of(setting, flag, source), source, 3)
        # An empty variable counts as not set: that is how compose files and CI pass "nothing" on.
        if strongest_rank >= 2 and (value := env.get(setting.env)):
            return Resolved(setting, value, f"env {setting.env}", 2)
        if setting.key in profile:
            source = f"profile {self.profile_name} in {self.profile_path}"
            return Resolved(setting, _secret_of(setting, profile[setting.key], source), source, 1)
        if setting.name == "controller":
            return Resolved(setting, DEFAULT_CONTROLLER_URL, "default", 0)
        return Resolved(setting, None, "not set", 0)

    def __getitem__(self, name: str) -> Resolved:
        return self._resolved[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._resolved)

    def __len__(self) -> int:
        return len(self._resolved)

    @classmethod
    def of_other_cluster(cls, profile: str, env: Mapping[str, str] | None = None) -> Settings:
        """Resolve the settings of a second cluster from a profile alone.

        Flags and environment, and the credentials in them, are those of the first cluster.

        Args:
            profile: Name of the profile.
            env: The environment; only the variables that locate the profiles file are used.

        Raises:
            ConfigError: There is no such profile, or it sets no controller; see also :class:`Settings`.
        """
        environment = os.environ if env is None else env
        places = {name: environment[name] for name in _FILE_VARIABLES if environment.get(name)}
        settings = cls({}, places, profile)
        if not settings["controller"].rank:
            raise ConfigError(
                f"the profile {profile} sets no controller",
                expected="controller = the other cluster's address",
                where=str(settings.profile_path),
            )
        return settings

    def value(self, name: str) -> str | None:
        """The value of one setting; secrets are not masked."""
        return self._resolved[name].value

    def connection_value(self, name: str) -> str | None:
        """The value of one setting by its name in ``CONNECTION_SETTINGS``; secrets are not masked."""
        return self.value(_KEYS.get(name, name))

    def spelling_of(self, name: str) -> str:
        """How to call one of ``CONNECTION_SETTINGS`` in a message: by its key and its source."""
        resolved = self[_KEYS.get(name, name)]
        key = resolved.setting.key
        return key if resolved.value is None else f"{key} ({resolved.source})"

    def as_flag(self, name: str, value: str | None) -> Resolved | None:
        """Return what a command's own flag of the same meaning says; None if it is not given."""
        setting = self[name].setting
        return Resolved(setting, value, f"flag {setting.flag}", 3) if value else None

    def check_owner(self, secret: str, address: str, *, given: Resolved | None = None) -> None:
        """Refuse to send a secret to an address if it belongs to another.

        A secret belongs to the address that applies without stronger sources than its own: a password in a
        profile to the controller in that profile, and a token in the environment to the controller in the
        environment or else in the profile. If these name no address, it may go anywhere.

        Args:
            secret: Name of the setting with the secret; it need not be set.
            address: Name of the setting with the address: ``controller``, ``broker`` or ``zookeeper``.
            given: The address in use; default: that of the setting.

        Raises:
            ConfigError: The error names both sources.
        """
        used, sent = given or self[address], self[secret]
        if sent.value is None or sent.rank >= used.rank:
            return
        owner = self._resolve(used.setting, sent.rank)
        check_owner(
            f"{secret.replace('_', ' ')} ({sent.source})",
            AddressSource(used.value or "", used.source),
            AddressSource(owner.value or "", owner.source) if owner.rank else None,
        )


def profile_path(env: Mapping[str, str]) -> Path:
    """The profiles file: ``PINOTCTL_CONFIG``, or ``pinotctl.toml`` in the configuration folder."""
    if explicit := env.get("PINOTCTL_CONFIG"):
        return Path(explicit)
    base = env.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "pinotctl.toml"


def _read_profile(path: Path, name: str | None) -> dict[str, str]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if name is None:
            return {}
        raise ConfigError(
            f"there is no profiles file, so there is no profile {name}", where=str(path)
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"the profiles file cannot be read: {error}", where=str(path)) from error
    if name is None and "default" not in document:
        return {}
    table = document.get(name or "default")
    if not isinstance(table, dict):
        raise ConfigError(
            f"there is no profile {name or 'default'}",
            expected=f"one of {', '.join(sorted(document)) or '(none)'}",
            where=str(path),
        )
    return {
        key: _profile_value(key, value, f"profile {name or 'default'} in {path}")
        for key, value in table.items()
    }


def _profile_value(key: str, value: object, where: str) -> str:
    keys = [setting.key for setting in SETTINGS]
    if key not in keys:
        near = difflib.get_close_matches(key, keys, n=1, cutoff=0.5)
        remedy = f"did you mean {near[0]}?" if near else None
        raise ConfigError(
            f"unknown key {key}", expected=f"one of {', '.join(keys)}", where=where, remedy=remedy
        )
    if not isinstance(value, str):
        raise ConfigError(
            f"the value of {key} is of type {type(value).__name__}", expected="a string", where=where
        )
    return value


def _secret_of(setting: Setting, value: str, source: str) -> str:
    """The value itself, or for a secret the content of the file that it names, without the line ending."""
    if not setting.secret:
        return value
    try:
        secret = Path(value).expanduser().read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, ValueError, RuntimeError) as error:  # RuntimeError: no such home folder
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text, or not a file"
        raise ConfigError(
            f"the {setting.name} file cannot be read: {reason}", where=f"{value} ({source})"
        ) from error
    if not secret:
        raise ConfigError(f"the {setting.name} file is empty", where=f"{value} ({source})")
    return secret
