"""The licences of all that the wheel and its extras bring: allowed, and listed in docs/licences.md."""

from __future__ import annotations

from importlib.metadata import Distribution
from pathlib import Path

import pytest

from scripts import licences
from scripts.licences import Dependency


def test_every_licence_is_allowed_and_on_the_page() -> None:
    licences.main(["--check"])


@pytest.mark.parametrize(
    "expression",
    [
        "MIT",
        "Apache-2.0 OR GPL-3.0-only",
        "GPL-3.0-only OR MIT AND ISC",
        "MPL-2.0 AND (Apache-2.0 OR MIT)",
        "BSD-3-Clause AND 0BSD AND MIT AND Zlib AND CC0-1.0",
        "((MIT))",
    ],
)
def test_what_is_allowed(expression: str) -> None:
    assert licences.is_allowed(expression)


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "GPL-3.0-only",
        "MIT AND GPL-3.0-only",
        "(MIT OR ISC) AND LGPL-2.1-or-later",
        "MIT OR",
        "(MIT",
        "MIT)",
        "MIT ISC",
        "Apache-2.0 WITH LLVM-exception",
        "see LICENSE, please",
    ],
)
def test_what_is_not_allowed(expression: str) -> None:
    assert not licences.is_allowed(expression)


def distribution(folder: Path, *lines: str) -> Distribution:
    """A package with lines of metadata."""
    about = folder / "thing-1.0.dist-info"
    about.mkdir()
    text = "\n".join(("Metadata-Version: 2.4", "Name: thing", "Version: 1.0", *lines))
    (about / "METADATA").write_text(f"{text}\n", encoding="utf-8")
    return Distribution.at(about)


@pytest.mark.parametrize(
    ("lines", "licence"),
    [
        (("License-Expression: MIT", "License: GPL"), "MIT"),
        (("License: Apache 2.0",), "Apache-2.0"),
        (
            ("License: BSD 3-Clause License", "        Copyright", "        All rights reserved"),
            "BSD-3-Clause",
        ),
        (("License: Copyright (c) 2020", "Classifier: License :: OSI Approved :: MIT License"), "MIT"),
        (
            (
                "License: Dual License",
                "Classifier: License :: OSI Approved :: BSD License",
                "Classifier: License :: OSI Approved :: Apache Software License",
            ),
            "Apache-2.0 AND BSD",
        ),
        (("Classifier: License :: Other/Proprietary License",), "Other/Proprietary License"),
        (("License: GPL",), "GPL"),
        ((), ""),
    ],
)
def test_the_licence_that_a_package_declares(tmp_path: Path, lines: tuple[str, ...], licence: str) -> None:
    assert licences.licence_of(distribution(tmp_path, *lines)) == licence


def thing(licence: str = "MIT", version: str = "1.0") -> Dependency:
    return Dependency("thing", version, licence, ("s3",))


def test_another_version_is_no_fault() -> None:
    assert not licences.faults([thing(version="2.0")], licences.page([thing()]))


@pytest.mark.parametrize(
    ("found", "page", "fault"),
    [
        (thing("ISC"), [thing()], "thing 1.0 is ISC; docs/licences.md lists MIT"),
        (thing(), [], "thing 1.0 is not listed in docs/licences.md"),
        (
            thing("GPL"),
            [thing("GPL")],
            "thing 1.0 declares the licence 'GPL', which is not on the allow list",
        ),
        (thing(""), [thing("")], "thing 1.0 declares no licence"),
    ],
)
def test_what_is_a_fault(found: Dependency, page: list[Dependency], fault: str) -> None:
    assert fault in licences.faults([found], licences.page(page))


def test_a_package_is_named_with_the_extra_whose_own_requirements_lead_to_it() -> None:
    extras = {"one": ["kazoo"], "two": ["pinot-plugins[one]", "click"], "test": ["pytest"]}
    found = {each.name: each.extras for each in licences.dependencies(["click"], extras)}
    assert found == {"click": ("always",), "kazoo": ("one",)}


def test_a_package_that_is_not_installed_is_an_error() -> None:
    with pytest.raises(licences.MissingPackageError, match=r"no-such-package is not installed.*'\.\[dev\]'"):
        licences.dependencies(["no-such-package"], {})


def test_the_check_ends_with_what_is_wrong(tmp_path: Path) -> None:
    page = tmp_path / "licences.md"
    page.write_text(licences.page([]), encoding="utf-8")
    with pytest.raises(SystemExit, match=r"click \S+ is not listed"):
        licences.main(["--check", "--output", str(page)])
