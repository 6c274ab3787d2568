"""Make a pins file: the exact jars of a class path, in order, with their sha256.

Maven resolves ``scripts/pins/NAME.pom.xml`` (this is the only place where Maven is needed),
``scripts/pins/NAME.toml`` lists what is left out and what comes last, and the result is written to
``jvm_bridge/pins/NAME.txt``, or into another ``folder`` that it names: tests have jars of their own::

    python scripts/make_pins.py pinot-0.11.0
    python scripts/make_pins.py kafka-3.9.1 --maven-repository /var/cache/m2
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent
POMS = ROOT / "scripts" / "pins"
PINS = "jvm_bridge/pins"
CLASS_PATH_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:build-classpath"


@dataclass(frozen=True)
class Jar:
    """One jar of Maven's answer: ``group:artifact:version[:classifier]`` and where Maven put it."""

    coordinate: str
    path: Path

    @property
    def unversioned(self) -> str:
        """``group:artifact[:classifier]``: what the rules are matched against."""
        parts = self.coordinate.split(":")
        return ":".join(parts[:2] + parts[3:])


def resolve(pom: Path, repository: Path) -> list[Jar]:
    """Ask Maven for the run-time class path of `pom`, nearest first, downloading into `repository`."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "classpath"
        command = ["mvn", "-q", "-B", f"-Dmaven.repo.local={repository}", "-f", str(pom), CLASS_PATH_GOAL]
        options = ["-Dmdep.includeScope=runtime", "-Dmdep.pathSeparator=\n", f"-Dmdep.outputFile={answer}"]
        subprocess.run([*command, *options], check=True, stdout=sys.stderr)
        return [_jar(Path(line), repository) for line in answer.read_text().splitlines()]


def _jar(path: Path, repository: Path) -> Jar:
    *group, artifact, version, name = path.relative_to(repository).parts
    classifier = name.removesuffix(".jar").removeprefix(f"{artifact}-{version}").removeprefix("-")
    return Jar(":".join([".".join(group), artifact, version, *([classifier] if classifier else [])]), path)


def matches(jar: Jar, rule: str) -> bool:
    """Whether a rule names the jar; a rule without a classifier names only jars without one."""
    wanted, found = rule.split(":"), jar.unversioned.split(":")
    return len(wanted) == len(found) and all(map(fnmatchcase, found, wanted))


def arrange(jars: Sequence[Jar], drop: Mapping[str, Iterable[str]], last: Iterable[str]) -> list[Jar]:
    """Leave out what `drop` names and move what `last` names to the end; every rule must match something."""
    rules = [rule for group in drop.values() for rule in group]
    last = list(last)
    unused = [rule for rule in [*rules, *last] if not any(matches(jar, rule) for jar in jars)]
    if unused:
        raise click.ClickException(f"These rules match no jar, remove them: {', '.join(unused)}")
    kept = [jar for jar in jars if not any(matches(jar, rule) for rule in rules)]
    return sorted(kept, key=lambda jar: any(matches(jar, rule) for rule in last))  # a stable sort


def pin_lines(jars: Iterable[Jar]) -> list[str]:
    """The lines of the pins file: coordinate, space, sha256 of the jar as Maven fetched it."""
    return [f"{jar.coordinate} {hashlib.sha256(jar.path.read_bytes()).hexdigest()}" for jar in jars]


@click.command()
@click.argument("name")
@click.option(
    "--maven-repository",
    type=click.Path(path_type=Path),
    default=Path.home() / ".m2" / "repository",
    help="Maven's local repository, where the jars are downloaded to.",
)
def main(name: str, maven_repository: Path) -> None:
    """Resolve scripts/pins/NAME.pom.xml and write the pins file."""
    rules = tomllib.loads((POMS / f"{name}.toml").read_text())
    jars = arrange(
        resolve(POMS / f"{name}.pom.xml", maven_repository.resolve()), rules["drop"], rules["last"]
    )
    target = ROOT / rules.get("folder", PINS) / f"{name}.txt"
    head = [
        f"# Made by scripts/make_pins.py {name}: do not edit.",
        "# group:artifact:version[:classifier] sha256, in class path order.",
    ]
    target.write_text("\n".join([*head, *pin_lines(jars)]) + "\n")
    size_mb = sum(jar.path.stat().st_size for jar in jars) / 1e6
    click.echo(f"{target.relative_to(ROOT)}: {len(jars)} jars, {size_mb:.0f} MB")


if __name__ == "__main__":
    main()
