#!/usr/bin/env bash
# All tests, from a fresh clone: needs bash, Python 3.11 or newer and a JDK of version 17 or newer, nothing else.
#
#   ./test.sh [PYTEST ARGUMENT...]     e.g. ./test.sh tests/unit, ./test.sh -k lineage
#   ./test.sh --setup                  makes .venv and fetches the jars, runs nothing
#
# Pinot, Kafka and S3 run as containers where a container engine answers and as processes elsewhere;
# PINOT_TEST_BACKEND=containers|processes decides otherwise. PYTHON and JAVA_HOME name other installations.
set -euo pipefail
cd "$(dirname "$0")"

fail() {
    printf 'test.sh: %s\n' "$1" >&2
    exit 2
}

find_python() {
    local candidate
    for candidate in "${PYTHON:-}" python3.11 python3.12 python3.13 python3; do
        if [ -n "$candidate" ] &&
            "$candidate" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    fail "no Python 3.11 or newer was found; install it with its venv module, or set PYTHON to it"
}

# A JDK, not a JRE: its jlink makes the base of the container images.
if [ -z "${JAVA_HOME:-}" ] && ! command -v java >/dev/null; then
    fail "no Java was found; install a JDK of version 17 or newer, or set JAVA_HOME to it"
fi

# .venv is made again when pyproject.toml changes.
stamp=$(cksum <pyproject.toml)
if [ "$(cat .venv/installed-for 2>/dev/null)" != "$stamp" ]; then
    python=$(find_python)
    [ -x .venv/bin/python ] || "$python" -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
    printf '%s\n' "$stamp" >.venv/installed-for
fi
.venv/bin/pinotctl jars fetch --output json >/dev/null

if [ "${1:-}" = --setup ]; then
    exit 0
fi
exec .venv/bin/python -m pytest "$@"
