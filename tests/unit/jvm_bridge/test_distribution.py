from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from controller_client.errors import SetupError
from jvm_bridge.jars import pinot_jars


def touch(*files: Path) -> None:
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()


def test_libraries_then_plugins(tmp_path: Path) -> None:
    plugin = tmp_path / "plugins" / "pinot-file-system" / "pinot-s3" / "pinot-s3-1.2.0-shaded.jar"
    touch(
        tmp_path / "lib" / "aaa.jar", tmp_path / "lib" / "pinot-all-1.2.0-jar-with-dependencies.jar", plugin
    )
    jars = pinot_jars(env={"PINOT_HOME": str(tmp_path)})
    assert jars.version == "1.2.0"
    assert [jar.name for jar in jars.class_path] == [
        "pinot-all-1.2.0-jar-with-dependencies.jar",
        "aaa.jar",
        "pinot-s3-1.2.0-shaded.jar",
    ]
    assert str(tmp_path) in jars.origin


def test_version_of_single_jars(tmp_path: Path) -> None:
    touch(tmp_path / "lib" / "pinot-spi-0.12.0-SNAPSHOT.jar")
    assert pinot_jars(env={"PINOT_HOME": str(tmp_path)}).version == "0.12.0-SNAPSHOT"


def test_version_from_the_manifest(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    with zipfile.ZipFile(tmp_path / "lib" / "pinot-everything.jar", "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\r\nImplementation-Version: 1.3.0-abc\r\n")
    assert pinot_jars(env={"PINOT_HOME": str(tmp_path)}).version == "1.3.0-abc"


def test_no_version_anywhere(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    with zipfile.ZipFile(tmp_path / "lib" / "pinot-everything.jar", "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
    with pytest.raises(SetupError, match="version"):
        pinot_jars(env={"PINOT_HOME": str(tmp_path)})


@pytest.mark.parametrize("files", [[], ["lib/other.jar"], ["pinot-all-1.0.0.jar"]])
def test_another_folder_is_refused(tmp_path: Path, files: list[str]) -> None:
    touch(*(tmp_path / file for file in files))
    with pytest.raises(SetupError, match="not a Pinot distribution") as caught:
        pinot_jars(env={"PINOT_HOME": str(tmp_path)})
    assert caught.value.where == str(tmp_path)
