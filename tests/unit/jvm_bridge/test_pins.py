from __future__ import annotations

import pytest

from controller_client.errors import SetupError
from jvm_bridge.jars import load_pins, parse_pins

SHA = "0" * 63


def test_coordinates_and_paths() -> None:
    pins = parse_pins("demo-1.2", f"# a comment\norg.a.b:c:1.0 {SHA}1\n\norg.a:n:2.0:linux-x86_64 {SHA}2\n")
    assert [pin.coordinate for pin in pins.pins] == ["org.a.b:c:1.0", "org.a:n:2.0:linux-x86_64"]
    assert [str(pin.path) for pin in pins.pins] == [
        "org/a/b/c/1.0/c-1.0.jar",
        "org/a/n/2.0/n-2.0-linux-x86_64.jar",
    ]
    assert pins.version == "1.2"


@pytest.mark.parametrize(
    "line", ["a:b:1", f"a:b {SHA}1", f"a::1 {SHA}1", f"a:b:1:c:d {SHA}1", f"a:b:1 {SHA}", f"a:b:1  {SHA}g"]
)
def test_an_invalid_line_is_reported(line: str) -> None:
    with pytest.raises(SetupError, match="line 2") as caught:
        parse_pins("demo-1", f"x:y:1 {SHA}1\n{line}\n")
    assert line in str(caught.value)


def test_a_jar_twice_is_an_error() -> None:
    with pytest.raises(SetupError, match="a:b:1"):
        parse_pins("demo-1", f"a:b:1 {SHA}1\na:b:1 {SHA}1\n")


def test_the_fingerprint_depends_on_the_order() -> None:
    one, other = f"a:b:1 {SHA}1", f"a:c:1 {SHA}2"
    assert (
        parse_pins("p-1", f"{one}\n{other}").fingerprint != parse_pins("p-1", f"{other}\n{one}").fingerprint
    )


def test_the_error_for_unknown_pins_lists_the_known_ones() -> None:
    with pytest.raises(SetupError, match=r"kafka-3\.9\.1, pinot-0\.11\.0"):
        load_pins("pinot-9")


def test_pinots_class_path_excludes_old_libraries_and_has_hadoop_last() -> None:
    pins = load_pins("pinot-0.11.0").pins
    artifacts = [pin.artifact for pin in pins]
    assert not {"jersey-core", "servlet-api", "javax.ws.rs-api", "slf4j-log4j12"} & set(artifacts)
    assert not [pin for pin in pins if pin.classifier.startswith(("osx", "windows"))]
    hadoop = [i for i, pin in enumerate(pins) if pin.group == "org.apache.hadoop"]
    pinot = [i for i, pin in enumerate(pins) if pin.group == "org.apache.pinot"]
    assert min(hadoop) > max(pinot)
    needed = {
        "pinot-tools",
        "pinot-s3",
        "pinot-kafka-2.0",
        "pinot-csv",
        "pinot-json",
        "pinot-avro",
        "pinot-parquet",
    }
    assert needed <= set(artifacts)
