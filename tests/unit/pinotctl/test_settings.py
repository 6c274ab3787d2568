"""Where settings come from, which source wins, how they are shown; arguments with keys, values or JSON."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from controller_client.config import BasicAuth, BearerToken, Secret, Tls
from controller_client.errors import ConfigError
from controller_client.zookeeper_access import AuthKind, ZooKeeperAccess
from pinotctl.arguments import key_values, read_json_object
from pinotctl.context import CliContext
from pinotctl.settings import SETTINGS, Settings
from tests.unit.pinotctl.conftest import Run

PROFILES = """
[default]
controller = "http://profile:9000"

[staging]
controller = "https://staging:9443"
user = "somebody"
"""


def shown(result: Result) -> dict[str, tuple[str | None, str]]:
    assert result.exit_code == 0, result.output
    return {row["setting"]: (row["value"], row["source"]) for row in json.loads(result.stdout)}


def test_the_order_is_flag_environment_profile_default(run: Run, config_file: Path) -> None:
    show = ("config", "show", "--output", "json")
    env = {"PINOT_CONTROLLER_URL": "http://env:9000"}
    assert shown(run(*show))["controller"] == ("http://localhost:9000", "default")
    config_file.write_text(PROFILES)
    assert shown(run(*show))["controller"] == ("http://profile:9000", f"profile default in {config_file}")
    assert shown(run(*show, env=env))["controller"] == ("http://env:9000", "env PINOT_CONTROLLER_URL")
    flagged = run("--controller", "http://flag:9000", *show, env=env)
    assert shown(flagged)["controller"] == ("http://flag:9000", "flag --controller")


def test_the_engine_of_what_names_none(run: Run, config_file: Path) -> None:
    config_file.write_text(PROFILES.replace("[staging]", '[staging]\nengine = "spark"'))

    def engine(profile: str, variable: str) -> str | None:
        context = CliContext({"PINOTCTL_CONFIG": str(config_file), "PINOT_PLUGINS_ENGINE": variable})
        context.configure({}, profile, 0)
        return context.default_engine()

    assert [engine(profile, "") for profile in ("default", "staging")] == [None, "spark"]
    assert [engine("staging", variable) for variable in ("embedded", "spark")] == [None, "spark"]
    with pytest.raises(ConfigError, match="the engine is 'minion'") as error:
        engine("staging", "minion")
    assert error.value.where == "env PINOT_PLUGINS_ENGINE"


def test_a_profile_is_chosen_by_flag_or_environment(run: Run, config_file: Path) -> None:
    config_file.write_text(PROFILES)
    show = ("config", "show", "--output", "json")
    assert shown(run("--profile", "staging", *show))["controller"][0] == "https://staging:9443"
    assert shown(run(*show, env={"PINOT_PROFILE": "staging"}))["user"][0] == "somebody"


def test_an_empty_variable_counts_as_not_set_and_an_empty_file_is_refused(run: Run, tmp_path: Path) -> None:
    result = run("config", "show", "--output", "json", env={"PINOT_CONTROLLER_URL": "", "PINOT_TOKEN": ""})
    assert shown(result)["controller"][1] == "default"
    assert shown(result)["token"] == (None, "not set")
    (tmp_path / "empty").write_text("\n")
    refused = run("--token-file", str(tmp_path / "empty"), "config", "show")
    assert refused.exit_code == 2
    assert "is empty" in refused.stderr


@pytest.mark.parametrize("output", ["table", "json"])
def test_secrets_are_masked(run: Run, tmp_path: Path, output: str) -> None:
    token = tmp_path / "token"
    token.write_text("hush-token\n")
    result = run(
        "--token-file",
        str(token),
        "--controller",
        "http://me:hush-url@host:9000",
        "config",
        "show",
        "--output",
        output,
        env={"PINOT_PASSWORD": "hush-password"},
    )
    assert result.exit_code == 0
    assert "hush" not in result.output
    assert result.stdout.count("***") == 3
    assert "flag --token-file" in result.stdout
    assert "env PINOT_PASSWORD" in result.stdout


def test_each_secret_has_a_flag_for_its_file() -> None:
    assert all(setting.flag.endswith("-file") for setting in SETTINGS if setting.secret)


def test_the_access_to_zookeeper_by_profile_and_environment(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("hush\n")
    profile = tmp_path / "pinotctl.toml"
    profile.write_text(
        '[default]\nzookeeper_auth = "digest"\nzookeeper_username = "pinot"\n'
        f'zookeeper_password_file = "{tmp_path / "password"}"\n'
    )
    env = {"PINOTCTL_CONFIG": str(profile)}
    assert context({**env, "PINOT_ZOOKEEPER_ACL": "creator"}).zookeeper_access() == ZooKeeperAccess(
        auth=AuthKind.DIGEST, username="pinot", password=Secret("hush"), acl="creator"
    )
    with pytest.raises(ConfigError, match=r"zookeeper_auth \(env PINOT_ZOOKEEPER_AUTH\) is 'basic'"):
        context({**env, "PINOT_ZOOKEEPER_AUTH": "basic"}).zookeeper_access()


def test_the_repr_of_a_setting_masks_it() -> None:
    settings = Settings({}, {"PINOT_TOKEN": "hush"})
    assert "hush" not in repr(settings["token"])
    assert settings.value("token") == "hush"


@pytest.mark.parametrize(
    ("toml", "arguments", "message"),
    [
        ("x = [", (), "cannot be read"),
        (PROFILES, ("--profile", "prod"), "there is no profile prod"),
        (None, ("--profile", "prod"), "no profiles file"),
        ('[default]\ncontroler = "x"', (), "did you mean controller?"),
        ('[default]\npassword = "hush"', (), "did you mean password_file?"),
        ("[default]\ncontroller = 9000", (), "of type int"),
        ('[default]\ntoken_file = "/no/such/file"', (), "the token file cannot be read"),
    ],
)
def test_a_wrong_profiles_file_is_a_usage_error(
    run: Run, config_file: Path, toml: str | None, arguments: tuple[str, ...], message: str
) -> None:
    if toml is not None:
        config_file.write_text(toml)
    result = run(*arguments, "config", "show")
    assert result.exit_code == 2
    assert message in result.stderr
    assert str(config_file) in result.stderr
    assert "hush" not in result.stderr


def context(env: dict[str, str], **flags: str) -> CliContext:
    made = CliContext({"PINOTCTL_CONFIG": "/no/such/file", **env})
    made.configure(flags, None, 0)
    return made


def test_user_and_password_become_basic_authentication() -> None:
    config = context({"PINOT_USERNAME": "me", "PINOT_PASSWORD": "hush"}).controller_config()
    assert isinstance(config.auth, BasicAuth)
    assert (config.auth.username, config.auth.password.reveal()) == ("me", "hush")


def test_a_token_from_a_stronger_source_wins_over_a_user(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    env = {"PINOT_USERNAME": "me", "PINOT_PASSWORD": "hush"}
    config = context(env, token_file=str(tmp_path / "token")).controller_config()
    assert isinstance(config.auth, BearerToken)
    weaker = context({"PINOT_TOKEN": "t"}, user="me", password_file=str(tmp_path / "token"))
    assert isinstance(weaker.controller_config().auth, BasicAuth)


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ({"PINOT_USERNAME": "me"}, "but no password"),
        ({"PINOT_PASSWORD": "hush"}, "but no user"),
        ({"PINOT_USERNAME": "me", "PINOT_PASSWORD": "hush", "PINOT_TOKEN": "t"}, "both a token and"),
    ],
)
def test_half_or_double_credentials_are_refused(env: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        context(env).controller_config()
    assert "hush" not in str(caught.value)


def test_brokers_and_certificates_reach_the_clients_configuration() -> None:
    made = context({"PINOT_CA_FILE": "/ca.pem"}, broker="http://a:1, http://b:2")
    assert made.broker_config().urls == ("http://a:1", "http://b:2")
    assert made.controller_config().tls.ca_file == "/ca.pem"


def test_another_cluster_gets_only_the_settings_of_its_profile(config_file: Path, tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("of-staging")
    config_file.write_text(PROFILES + f'password_file = "{secret}"\n[bare]\nuser = "x"\n')
    env = {
        "PINOTCTL_CONFIG": str(config_file),
        "PINOT_CONTROLLER_URL": "http://env:9000",
        "PINOT_TOKEN": "of-the-first-cluster",
        "PINOT_PROFILE": "bare",
        "PINOT_CA_FILE": "/ca.pem",
        "PINOT_CLIENT_CERT_FILE": "/cert.pem",
        "PINOT_CLIENT_KEY_FILE": "/key.pem",
    }
    made = context(env)
    found = made.other_controller_config(None, "staging")
    assert found.url == "https://staging:9443"
    assert isinstance(found.auth, BasicAuth)
    assert (found.auth.username, found.auth.password.reveal()) == ("somebody", "of-staging")
    bare = made.other_controller_config("http://other:9000", None)
    assert (bare.auth, bare.tls) == (None, Tls(ca_file="/ca.pem"))
    with pytest.raises(ConfigError, match="the profile bare sets no controller"):
        Settings.of_other_cluster("bare", env)
    with pytest.raises(ConfigError, match="there is no profile nope"):
        Settings.of_other_cluster("nope", env)


STAGING = "http://staging:9000"


@pytest.mark.parametrize("secret", ["environment", "profile"])
@pytest.mark.parametrize(
    ("flag", "setting"), [("controller", "controller"), ("broker", "broker"), ("zookeeper", "zookeeper")]
)
def test_credentials_do_not_follow_an_address_to_another_host(
    secret: str, flag: str, setting: str, config_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("hush")
    addresses = {"controller": "http://home:9000", "broker": "http://home:8099", "zookeeper": "home:2181"}
    if secret == "environment":
        names = {"controller": "PINOT_CONTROLLER_URL", "broker": "PINOT_BROKER_URL"}
        env = {names.get(name, "PINOT_ZOOKEEPER"): address for name, address in addresses.items()}
        env |= {"PINOT_TOKEN": "hush", "PINOT_ZOOKEEPER_PASSWORD": "hush"}
        env |= {"PINOT_ZOOKEEPER_USERNAME": "me", "PINOT_ZOOKEEPER_AUTH": "digest"}
    else:
        settings = {**addresses, "token_file": str(tmp_path / "secret")}
        settings |= {"zookeeper_password_file": str(tmp_path / "secret"), "zookeeper_username": "me"}
        settings["zookeeper_auth"] = "digest"
        config_file.write_text(
            "[default]\n" + "".join(f'{key} = "{value}"\n' for key, value in settings.items())
        )
        env = {}
    env["PINOTCTL_CONFIG"] = str(config_file)

    def use(address: str | None, **more: str) -> object:
        made = context(env, **({flag: address} if address else {}), **more)
        calls: dict[str, Callable[[], object]] = {
            "controller": made.controller_config,
            "broker": made.broker_config,
            "zookeeper": made.zookeeper_access,
        }
        return calls[setting]()

    assert use(None)
    assert use(addresses[flag])
    other = STAGING if flag != "zookeeper" else "staging:2181"
    with pytest.raises(ConfigError, match=r"belongs to (http://)?home:") as caught:
        use(other)
    assert f"flag --{flag}" in str(caught.value)
    assert "hush" not in str(caught.value)
    if flag != "zookeeper":
        assert use(other, token_file=str(tmp_path / "secret"))


def test_a_token_in_the_environment_belongs_to_the_profiles_controller(
    config_file: Path, tmp_path: Path
) -> None:
    config_file.write_text(PROFILES)
    env = {"PINOTCTL_CONFIG": str(config_file), "PINOT_TOKEN": "hush"}
    assert context(env).controller_config().auth is not None
    with pytest.raises(ConfigError, match="http://profile:9000"):
        context(env, controller=STAGING).controller_config()
    unbound = {"PINOTCTL_CONFIG": str(tmp_path / "none.toml"), "PINOT_TOKEN": "hush"}
    assert context(unbound, controller=STAGING).controller_config().auth is not None


def test_a_commands_own_flags_are_flags_too(tmp_path: Path) -> None:
    env = {
        "PINOTCTL_CONFIG": str(tmp_path / "none.toml"),
        "PINOT_CONTROLLER_URL": "http://home:9000",
        "PINOT_TOKEN": "hush",
        "PINOT_ZOOKEEPER": "a:2181,b:2181/chroot",
        "PINOT_ZOOKEEPER_AUTH": "digest",
        "PINOT_ZOOKEEPER_USERNAME": "me",
        "PINOT_ZOOKEEPER_PASSWORD": "hush",
    }
    made = context(env)
    assert made.controller_config("http://home:9000").auth is not None
    assert made.zookeeper_access("b:2181/other").password is not None
    with pytest.raises(ConfigError, match="env PINOT_CONTROLLER_URL"):
        made.controller_config(STAGING)
    with pytest.raises(ConfigError, match="env PINOT_ZOOKEEPER"):
        made.zookeeper_access("a:2181,c:2181/chroot")


def test_a_password_that_is_not_used_goes_nowhere(config_file: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hush")
    config_file.write_text(
        f'[default]\ncontroller = "http://home"\nuser = "me"\npassword_file = "{tmp_path / "secret"}"\n'
    )
    env = {"PINOTCTL_CONFIG": str(config_file)}
    made = context(env, controller=STAGING, token_file=str(tmp_path / "secret"))
    assert isinstance(made.controller_config().auth, BearerToken)


def file(text: str) -> io.StringIO:
    made = io.StringIO(text)
    made.name = "schema.json"
    return made


def test_key_values() -> None:
    assert key_values(["a=1", " b = x=y "], "--option") == {"a": "1", "b": "x=y"}


@pytest.mark.parametrize("pairs", [["a"], ["=1"], ["a=1", "a=2"]])
def test_wrong_key_values_are_refused(pairs: list[str]) -> None:
    with pytest.raises(ConfigError, match="--option"):
        key_values(pairs, "--option")


def test_a_json_object() -> None:
    assert read_json_object(file('{"a": 1}')) == {"a": 1}


@pytest.mark.parametrize(("text", "message"), [("{", "line 1 column 2"), ("[1]", "is a list")])
def test_an_error_about_json_names_the_file(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        read_json_object(file(text))
    assert caught.value.where == "schema.json"
