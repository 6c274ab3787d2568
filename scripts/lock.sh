#!/usr/bin/env bash
# Writes requirements/*.txt: the versions, with hashes, of what quickstart.sh, the unit tests, and development install.
# Run it after a change of pyproject.toml; with --upgrade it takes the newest versions.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/venv.sh

uv=${VENV:-.venv}/bin/uv
[ -x "$uv" ] || fail "there is no $uv; run ./test.sh --setup first"

lock() {
    local name=$1
    shift
    "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url \
        --no-emit-package pinot-plugins --output-file "requirements/$name.txt" "$@" -
}

lock uv "$@" <<<'uv'
for name in demo unit dev; do
    # What installs the project itself comes with it.
    lock "$name" --extra "$name" "$@" pyproject.toml <<<'
uv
hatchling
editables
'
done
