#!/usr/bin/env bash
# Runs the tests with other versions of the dependencies than the locked ones, in an environment of its own.
#
#   scripts/lane.sh lowest [PYTEST ARGUMENT...]     the lowest versions that pyproject.toml allows
#   scripts/lane.sh newest [PYTEST ARGUMENT...]     the newest versions
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/venv.sh

lane=${1:-}
case $lane in
lowest) resolution=lowest-direct ;;
newest) resolution=highest ;;
*) fail "expected a lane, lowest or newest; got '$lane'" ;;
esac
shift

export VENV=.venv-$lane
python=$(find_python)
[ -x "$VENV/bin/python" ] || "$python" -m venv "$VENV"
"$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
"$VENV/bin/uv" pip install --quiet --python "$VENV/bin/python" --upgrade --resolution "$resolution" --editable '.[dev]'
"$VENV/bin/uv" pip freeze --quiet --python "$VENV/bin/python" >"$VENV/versions.txt"
mark_venv dev # test.sh leaves it as it is
exec ./test.sh "$@"
