"""Writes docs/licences.md: what the wheel and its extras bring, with the licence of each package.

Run it in an environment with all extras (`pip install '.[dev]'`)::

    python scripts/licences.py             # write docs/licences.md
    python scripts/licences.py --check     # fail where the page or a licence is not as it must be
    python scripts/licences.py --output dist/licences.md

Names and licences come from the metadata of the installed packages, requirements from pyproject.toml.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "licences.md"
PROJECT = "pinot-plugins"
NOT_FOR_USERS = frozenset({"dev", "docs", "release", "test", "unit"})
CORE = "always"

ALLOWED = frozenset(
    {
        *(
            "0BSD",
            "Apache-2.0",
            "BSD",
            "BSD-2-Clause",
            "BSD-3-Clause",
            "CC0-1.0",
            "ISC",
            "MIT",
            "MIT-0",
            "MIT-CMU",
        ),
        *("MPL-2.0", "PSF-2.0", "Unlicense", "Zlib"),
    }
)
"""Permissive licences, and MPL-2.0, whose terms cover only changes of the package's own files.

``BSD`` stands for packages that do not declare which BSD licence they use.
"""

_BY_NAME = {
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd": "BSD",
    "bsd license": "BSD",
    "3-clause bsd license": "BSD-3-Clause",
    "bsd 3-clause license": "BSD-3-Clause",
    "cc0": "CC0-1.0",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
}
"""SPDX identifiers of the names that packages use in the metadata fields that are older than SPDX."""

_ROW = re.compile(r"\| (?P<name>[\w.-]+) \| (?P<version>[^|]+) \| (?P<licence>[^|]+) \| (?P<extras>[^|]+) \|")
_TOKEN = re.compile(r"\s*(\(|\)|[\w.+-]+)")


@dataclass(frozen=True)
class Dependency:
    """A package that the wheel or an extra brings.

    Attributes:
        name: Its normalized name.
        version: The version that is installed.
        licence: An SPDX expression, or the words of its metadata; empty if it declares none.
        extras: What brings it: extras, or ``always``.
    """

    name: str
    version: str
    licence: str
    extras: tuple[str, ...]


class MissingPackageError(Exception):
    """A dependency is not installed, so its licence cannot be read."""


def dependencies(core: Iterable[str], extras: Mapping[str, Iterable[str]]) -> list[Dependency]:
    """Return what the core and the extras of the project bring, by name.

    Args:
        core: Requirements of the project itself.
        extras: Requirements of each extra.

    Raises:
        MissingPackageError: A dependency is not installed.
    """
    brought: dict[str, set[str]] = defaultdict(set)
    for extra, requirements in {CORE: core, **extras}.items():
        if extra not in NOT_FOR_USERS:
            for name in _closure(map(Requirement, requirements)):
                brought[name].add(extra)
    found = []
    for name, by in sorted(brought.items()):
        distribution = _installed(name)
        shown = (CORE,) if CORE in by else tuple(sorted(by))
        found.append(Dependency(name, distribution.version, licence_of(distribution), shown))
    return found


def _closure(requirements: Iterable[Requirement]) -> Iterator[str]:
    """The names that requirements lead to; the project's own extras stand for themselves and are left out."""
    left = [(requirement, "") for requirement in requirements]
    seen: set[tuple[str, str]] = set()
    while left:
        requirement, wanted_by = left.pop()
        name = canonicalize_name(requirement.name)
        if name == PROJECT or (requirement.marker and not requirement.marker.evaluate({"extra": wanted_by})):
            continue
        distribution = _installed(name)
        yield name
        for extra in ("", *requirement.extras):
            if (name, extra) not in seen:
                seen.add((name, extra))
                left += [(Requirement(line), extra) for line in distribution.requires or ()]


def _installed(name: str) -> Distribution:
    try:
        return importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        message = f"{name} is not installed; licences are read from an environment with all extras"
        raise MissingPackageError(f"{message}: pip install '.[dev]'") from None


def licence_of(distribution: Distribution) -> str:
    """Return the licence that a package declares: an SPDX expression wherever one can be derived.

    The field ``License-Expression`` comes first, then the first line of ``License`` if it names a licence of
    the allow list, then the classifiers, all of them.
    """
    metadata = distribution.metadata
    if expression := metadata.get("License-Expression"):
        return expression
    text = (metadata.get("License") or "").strip().partition("\n")[0].strip()
    known = _BY_NAME.get(text.lower(), text)
    if is_allowed(known):
        return known
    classifiers = [
        line.rpartition(" :: ")[2]
        for line in metadata.get_all("Classifier") or ()
        if line.startswith("License :: ")
    ]
    if classifiers:
        return " AND ".join(sorted({_BY_NAME.get(name.lower(), name) for name in classifiers}))
    return text


def is_allowed(expression: str) -> bool:
    """Whether an SPDX expression can be met with allowed licences alone.

    ``AND`` needs both sides, ``OR`` one of them. What cannot be parsed is not allowed.
    """
    tokens = _TOKEN.findall(expression)
    if "".join(tokens) != re.sub(r"\s", "", expression):
        return False
    try:
        result = _either(tokens)
    except IndexError:
        return False
    return result and not tokens


def _either(tokens: list[str]) -> bool:
    result = _both(tokens)
    while tokens and tokens[0] == "OR":
        del tokens[0]
        result = _both(tokens) or result
    return result


def _both(tokens: list[str]) -> bool:
    result = _one(tokens)
    while tokens and tokens[0] == "AND":
        del tokens[0]
        result = _one(tokens) and result
    return result


def _one(tokens: list[str]) -> bool:
    first = tokens.pop(0)
    if first != "(":
        return first in ALLOWED
    result = _either(tokens)
    return tokens.pop(0) == ")" and result


def page(found: Iterable[Dependency]) -> str:
    """Return docs/licences.md."""
    found = list(found)
    core = sum(each.extras == (CORE,) for each in found)
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    rows = "".join(
        f"| {each.name} | {each.version} | {each.licence} | {', '.join(each.extras)} |\n" for each in found
    )
    return f"""\
# Licences of the dependencies

pinot-plugins is licensed under [Apache-2.0](https://www.apache.org/licenses/LICENSE-2.0). The wheel
contains only its own files. `pip` installs these packages with it: {len(found)} with all extras, {core} of
them always.

`python scripts/licences.py` writes this page from the metadata of the installed packages, here on Linux with
Python {python}. A test fails if a package is missing from this page, if its licence has changed, or if the
licence is not on this list: {", ".join(f"`{name}`" for name in sorted(ALLOWED))}.
`BSD` means that the package does not declare which BSD licence it uses.

Versions are those of the day on which the page was written; your environment may have others. The last
column names what brings the package: `{CORE}`, or an [extra](install.md#extras). An extra that includes
other extras brings their packages too.

The jars of Apache Pinot and Kafka and their dependencies are not in the wheel. `pinotctl jars fetch`
downloads them from Maven Central, or they come with your installation of Pinot. They contain their own
licences.

| package | version | licence | brought by |
| --- | --- | --- | --- |
{rows}"""


def listed(text: str) -> dict[str, str]:
    """Return the licences that the page lists, by package."""
    rows = (_ROW.fullmatch(line) for line in text.splitlines())
    return {row["name"]: row["licence"].strip() for row in rows if row and row["name"] != "package"}


def faults(found: Iterable[Dependency], text: str) -> list[str]:
    """Return what is wrong, one line per fault.

    Another version is no fault. Neither is a package that the page lists and that is not needed here: other
    versions of Python need other packages.
    """
    on_page = listed(text)
    wrong = []
    for each in found:
        if not is_allowed(each.licence):
            declared = f"declares the licence {each.licence!r}, which is not on the allow list"
            wrong.append(f"{each.name} {each.version} {declared if each.licence else 'declares no licence'}")
        if each.name not in on_page:
            wrong.append(f"{each.name} {each.version} is not listed in docs/licences.md")
        elif on_page[each.name] != each.licence:
            listed_as = on_page[each.name]
            wrong.append(f"{each.name} {each.version} is {each.licence}; docs/licences.md lists {listed_as}")
    return wrong


def main(arguments: list[str] | None = None) -> None:
    """Write or check the page; exit with 1 and the reasons where it is wrong."""
    parser = argparse.ArgumentParser(description="Write or check docs/licences.md.")
    parser.add_argument("--check", action="store_true", help="check the page, write nothing")
    parser.add_argument("--output", type=Path, default=PAGE, help="the file to write")
    options = parser.parse_args(arguments)
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    try:
        found = dependencies(project["dependencies"], project["optional-dependencies"])
    except MissingPackageError as error:
        sys.exit(f"Error: {error}")
    if not options.check:
        options.output.write_text(page(found), encoding="utf-8")
    wrong = faults(found, options.output.read_text(encoding="utf-8"))
    if wrong:
        lines = "\n".join(f"  {line}" for line in wrong)
        sys.exit(
            f"Error: {len(wrong)} licence faults:\n{lines}\nTo update the page: python scripts/licences.py"
        )


if __name__ == "__main__":
    main()
