#!/usr/bin/env bash
# Writes requirements/*.txt and docker/requirements.txt: the versions, with hashes, of what quickstart.sh, the unit
# tests, development, and the image install.
# Run it after a change of pyproject.toml; with --upgrade it takes the newest versions.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/venv.sh

uv=${VENV:-.venv}/bin/uv
[ -x "$uv" ] || fail "there is no $uv; run ./test.sh --setup first"

lock() {
    local file=$1
    shift
    "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url \
        --no-emit-package pinot-plugins --output-file "$file" "$@"
}

lock requirements/uv.txt "$@" - <<<'uv'
for names in demo demo-spark unit dev; do
    extras=()
    for extra in ${names//-/ }; do extras+=(--extra "$extra"); done
    # What installs the project itself comes with it.
    lock "requirements/$names.txt" "${extras[@]}" "$@" pyproject.toml - <<<'
uv
hatchling
editables
'
done
# The image has the versions that the tests run with.
lock docker/requirements.txt --constraints requirements/dev.txt --extra minion --extra server "$@" pyproject.toml
