#!/usr/bin/env bash
# Builds and checks what a release consists of, in dist/: wheel, source distribution, SBOM and licence list.
#
#   scripts/release.sh [FOLDER]        FOLDER for dist; it must not have a release of this version yet
#
# Needs bash, Python 3.11 or newer and a package index. Works in environments of its own; publishes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/venv.sh

python=$(find_python)
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' controller_client/_version.py)
dist=${1:-dist}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

step() {
    printf '=== %s\n' "$1"
}

# The requirements of an extra of pyproject.toml, or with --users the names of the extras for users, by commas.
extra() {
    "$python" - "$1" <<'PROGRAM'
import sys, tomllib

with open("pyproject.toml", "rb") as file:
    extras = tomllib.load(file)["project"]["optional-dependencies"]
if sys.argv[1] == "--users":
    print(",".join(sorted(set(extras) - {"dev", "docs", "release", "test", "unit"})))
else:
    print("\n".join(extras[sys.argv[1]]))
PROGRAM
}

new_environment() {
    "$python" -m venv "$work/$1"
    "$work/$1/bin/python" -m pip install --quiet --disable-pip-version-check "${@:2}"
}

step "version $version"
case $version in
*[!0-9.]* | '') fail "controller_client/_version.py has the version '$version'; a release has numbers alone, such as 0.1.0" ;;
esac
grep -q "^## \[$version\] - [0-9]\{4\}-[0-9][0-9]-[0-9][0-9]\$" CHANGELOG.md ||
    fail "CHANGELOG.md has no heading '## [$version] - DATE'; write what the release brings below it"
[ -z "$(git status --porcelain)" ] ||
    fail "the checkout has changes that are not committed; commit them, so that the release can be built again"
for file in "$dist/pinot_plugins-$version"*; do
    [ ! -e "$file" ] || fail "$file exists already; remove it, or raise the version"
done
mkdir -p "$dist"
wheel=$dist/pinot_plugins-$version-py3-none-any.whl
sdist=$dist/pinot_plugins-$version.tar.gz

step 'tools, in an environment of their own'
extra release >"$work/release.txt"
new_environment tools --requirement "$work/release.txt"

step 'source distribution, and the wheel from it'
"$work/tools/bin/python" -m build --outdir "$dist" .
"$work/tools/bin/twine" check --strict "$wheel" "$sdist"

step 'the wheel in an empty environment'
new_environment empty "$wheel"
(cd "$work" && env -u PYTHONPATH empty/bin/pinotctl --version)
(cd "$work" && env -u PYTHONPATH empty/bin/pinotctl --help >/dev/null)

step 'the wheel with all extras, licences, SBOM'
new_environment full "$wheel[$(extra --users)]"
"$work/full/bin/python" scripts/licences.py --check
"$work/full/bin/python" scripts/licences.py --output "$dist/pinot_plugins-$version.licences.md"
# pip is in the environment, and not a part of what the wheel brings.
"$work/full/bin/python" -m pip uninstall --quiet --yes pip
# The version is in the SBOM only if pyproject.toml has it.
sed "s/^dynamic = \[\"version\"\]\$/version = \"$version\"/" pyproject.toml >"$work/pyproject.toml"
"$work/tools/bin/cyclonedx-py" environment "$work/full/bin/python" --pyproject "$work/pyproject.toml" --mc-type library \
    --output-reproducible --of JSON --output-file "$dist/pinot_plugins-$version.cdx.json"
"$python" - "$dist/pinot_plugins-$version.cdx.json" "$version" <<'PROGRAM' || fail 'the SBOM does not name this version'
import json, sys

with open(sys.argv[1]) as file:
    sys.exit(json.load(file)["metadata"]["component"].get("version") != sys.argv[2])
PROGRAM

step "done: to publish, $dist has"
(cd "$dist" && sha256sum "pinot_plugins-$version"*)
