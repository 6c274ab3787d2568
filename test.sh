#!/usr/bin/env bash
# Runs all tests from a fresh clone: needs only bash, Python 3.11 or newer and a JDK of version 17 or newer.
#
#   ./test.sh [PYTEST ARGUMENT...]     e.g. ./test.sh tests/unit, ./test.sh -k lineage
#   ./test.sh -n 0 [...]               in one process; default: three, or two if memory is short
#   ./test.sh --setup                  creates .venv and fetches the jars, runs no tests
#
# Pinot, Kafka and S3 run as containers if a container engine answers, otherwise as processes;
# PINOT_TEST_BACKEND=containers|processes overrides this. PYTHON and JAVA_HOME set other installations.
# PINOT_HOME=<distribution> or PINOT_IMAGE=<image> sets the Pinot to test, instead of the pinned jars.
set -euo pipefail
cd "$(dirname "$0")"

. scripts/venv.sh

require_java # a JDK, not a JRE: its jlink builds the base of the container images
ensure_venv dev
if [ -z "${PINOT_IMAGE:-}" ]; then # an image has its own jars
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

# The same order of sets in each run, as random tests have the same seed.
export PYTHONHASHSEED=${PYTHONHASHSEED:-0}
# Several processes, each with its own cluster, as the tests wait much of the time. Not for interactive runs.
processes=(--numprocesses "$(processes_of_tests)" --dist loadfile)
for argument in "$@"; do
    case $argument in -n* | --numprocesses* | --dist* | --pdb | -s | --capture*) processes=() ;; esac
done
exec .venv/bin/python -m pytest "${processes[@]}" "$@"
