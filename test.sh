#!/usr/bin/env bash
# Runs the tests from a fresh clone; needs bash and Python 3.11 or newer, and for all but the unit tests a JDK of
# version 17 or newer.
#
#   ./test.sh [PYTEST ARGUMENT...]     e.g. ./test.sh tests/unit, ./test.sh tests/contract, ./test.sh -k lineage
#   ./test.sh -n 0 [...]               in one process; default: four, or two if memory is short
#   ./test.sh --keep [...]             leaves the cluster running, and the next run finds it
#   ./test.sh --stop                   ends what --keep has left running
#   ./test.sh --setup [tests/unit]     only prepares
#
# CONTRIBUTING.md has the rest: which tests there are, and which Python, Java, Pinot and machine run them.
set -euo pipefail
cd "$(dirname "$0")"
. scripts/venv.sh

only_unit_tests() {
    local argument result=1
    for argument in "$@"; do
        case $argument in
        tests/unit | tests/unit/*) result=0 ;;
        tests | tests/*) return 1 ;;
        esac
    done
    return "$result"
}

processes_of_tests() {
    local memory_kib=0
    if [ -r /proc/meminfo ]; then
        memory_kib=$(awk '$1 == "MemTotal:" {print $2}' /proc/meminfo)
    fi
    if [ "$memory_kib" -ge "$((14 * 1024 * 1024))" ]; then echo 4; else echo 2; fi
}

if only_unit_tests "$@"; then
    ensure_venv unit
else
    ensure_venv dev
    # An image or a distribution has its own jars.
    if [ -z "${PINOT_IMAGE:-}${PINOT_HOME:-}" ]; then
        "${VENV:-.venv}/bin/pinotctl" jars fetch --output json >/dev/null
    fi
fi
case "${1:-}" in
--setup) exit 0 ;;
--stop) exec "${VENV:-.venv}/bin/python" -m tests.support.shared_session ;;
esac

# Hundreds of processes import the same modules: each would compile them again.
unset PYTHONDONTWRITEBYTECODE
# The same order of sets in each run, as random tests have the same seed.
export PYTHONHASHSEED=${PYTHONHASHSEED:-0}
# Several processes, as the tests wait much of the time. Not for interactive runs.
processes=(--numprocesses "$(processes_of_tests)" --dist loadscope)
for argument in "$@"; do
    case $argument in
    -n* | --numprocesses*) processes=(--dist loadscope) ;; # tests of a module use what earlier ones made
    --dist* | --pdb | -s | --capture*) processes=() ;;
    esac
done
exec "${VENV:-.venv}/bin/python" -m pytest "${processes[@]}" "$@"
