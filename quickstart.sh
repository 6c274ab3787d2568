#!/usr/bin/env bash
# From a fresh clone to a queryable table: creates a virtual environment, fetches Pinot's jars, starts a local
# cluster and ingests files with consistent push. Needs bash, Python 3.11 or later and JDK 17 or later. Arguments are
# passed to examples/flights.py (see its --help). With --engine spark, it also installs PySpark.
set -euo pipefail
cd "$(dirname "$0")"
. scripts/venv.sh

require_java
python=$(find_python)
"$python" scripts/check_ports.py "$@"
case " $* " in
*" --engine spark "* | *" --engine=spark "*) ensure_venv demo-spark ;;
*) ensure_venv demo ;;
esac
.venv/bin/pinotctl jars fetch >/dev/null
exec .venv/bin/python examples/flights.py "$@"
