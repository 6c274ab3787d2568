#!/usr/bin/env bash
# All tests, from a fresh clone: needs bash, Python 3.11 or newer and a JDK of version 17 or newer, nothing else.
#
#   ./test.sh [PYTEST ARGUMENT...]     e.g. ./test.sh tests/unit, ./test.sh -k lineage
#   ./test.sh -n 0 [...]               in one process; else in three, or two where memory is short
#   ./test.sh --setup                  makes .venv and fetches the jars, runs nothing
#
# Pinot, Kafka and S3 run as containers where a container engine answers and as processes elsewhere;
# PINOT_TEST_BACKEND=containers|processes decides otherwise. PYTHON and JAVA_HOME name other installations.
# PINOT_HOME=<distribution> or PINOT_IMAGE=<image> names the Pinot to test instead of the pinned jars.
set -euo pipefail
cd "$(dirname "$0")"

. scripts/venv.sh

require_java # a JDK, not a JRE: its jlink makes the base of the container images
ensure_venv dev
if [ -z "${PINOT_IMAGE:-}" ]; then # the jars of an image come out of it
    .venv/bin/pinotctl jars fetch --output json >/dev/null
fi

if [ "${1:-}" = --setup ]; then
    [ -n "${PINOT_HOME:-}" ] || .venv/bin/python -m tests.support.pinned_pinot
    exit 0
fi
processes_of_tests() {
    local memory_kib=0
    if [ -r /proc/meminfo ]; then
        memory_kib=$(awk '$1 == "MemTotal:" {print $2}' /proc/meminfo)
    fi
    if [ "$memory_kib" -ge "$((14 * 1024 * 1024))" ]; then echo 3; else echo 2; fi
}

# Sets have the same order each time, as random tests do.
export PYTHONHASHSEED=${PYTHONHASHSEED:-0}
# Several processes, each with a cluster of its own: much of the time the tests wait. Not where somebody looks on.
processes=(--numprocesses "$(processes_of_tests)" --dist loadfile)
for argument in "$@"; do
    case $argument in -n* | --numprocesses* | --dist* | --pdb | -s | --capture*) processes=() ;; esac
done
exec .venv/bin/python -m pytest "${processes[@]}" "$@"
