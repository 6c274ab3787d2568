"""The answers of ClickBench's 43 queries: Pinot over our segments, and DuckDB over the files.

A table with 105 columns in the shape of ClickBench's hits (:mod:`benchmarks.wide_table`) is ingested by
FileIngestionTask from each format. Every query is asked of Pinot and, over the same Parquet files, of DuckDB.
The queries (``clickbench.sql``) are ClickBench's, with the names of that table's columns. Where ClickBench
leaves open which of several equal rows come first, the order is completed: there is no one answer otherwise.

    pip install duckdb
    python -m benchmarks.clickbench
"""

from __future__ import annotations

import argparse
import importlib
import math
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.ingestion import write_files
from benchmarks.local_cluster import BenchmarkCluster, open_cluster
from benchmarks.tables import save, show
from benchmarks.wide_table import wide_table
from controller_client.errors import QueryError
from minion_tasks.file_ingestion.params.table_params import TASK_TYPE

_FORMATS = ("parquet", "csv", "json", "avro")
_GROUPS = 100_000_000
_OPTIONS: dict[str, str | int | bool] = {
    "numGroupsLimit": _GROUPS,
    "minSegmentGroupTrimSize": -1,
    "minServerGroupTrimSize": -1,
    "minBrokerGroupTrimSize": -1,
    "groupTrimThreshold": _GROUPS,
}
"""Without these, Pinot's answers to queries with many groups are approximate."""
_TOLERANCE = 1e-9
"""Of a mean: both add floating-point numbers, in different orders."""

_BOTH = {
    "sums": ", ".join(f"sum(count_0 + {number})" for number in range(90)),
    "views": "code_4 = 0 and time_0 >= 1372636800000 and time_0 < 1375315200000 and flag_30 = 0",
}
_PINOT = {
    "minute": "minute(time_0)",
    "minute_of_time": "datetrunc('minute', time_0)",
    "host": "regexpreplace(url_2, '^([^/]+)/.*$', '$1')",
    "min_text": "minstring",
}
_DUCKDB = {
    "minute": "(time_0 // 60000) % 60",
    "minute_of_time": "time_0 // 60000 * 60000",
    "host": r"regexp_replace(url_2, '^([^/]+)/.*$', '\1')",
    "min_text": "min",
}


@dataclass(frozen=True)
class _Compared:
    """A query's outcome: ``equal``, ``differs``, or ``refused`` by Pinot, with what was seen."""

    query: int
    outcome: str
    seen: str = ""


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, float) or isinstance(other, float):
        return math.isclose(float(one), float(other), rel_tol=_TOLERANCE)
    return str(one) == str(other)


def _compare(
    cluster: BenchmarkCluster, table: str, expected: Sequence[Sequence[tuple[Any, ...]]]
) -> Iterator[_Compared]:
    # The value that query 20 looks for.
    a_hash = expected[19][0][0]
    for number, template in enumerate(_queries(), start=1):
        sql = template.format(**_BOTH, **_PINOT, a_hash=a_hash).replace("from hits", f"from {table}")
        try:
            result = cluster.broker.query(sql, options=_OPTIONS, timeout_s=120)
        except QueryError as error:
            yield _Compared(number, "refused", error.message[:200])
            continue
        rows = (
            _by_name([column.name for column in result.columns], result)
            if "select *" in sql
            else list(result)
        )
        is_equal = len(rows) == len(expected[number - 1]) and all(
            len(row) == len(other) and all(map(_is_same, row, other))
            for row, other in zip(rows, expected[number - 1], strict=True)
        )
        yield _Compared(number, "equal" if is_equal else "differs", "" if is_equal else f"{rows[:2]}")


def _queries() -> list[str]:
    text = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8").partition("\n\n")[2]
    return [" ".join(query.split()) for query in text.split(";") if query.strip()]


def _answers(folder: Path) -> list[list[tuple[Any, ...]]]:
    """Return DuckDB's answers over the Parquet files."""
    duckdb: Any = importlib.import_module("duckdb")
    with duckdb.connect() as connection:
        connection.execute(f"create view hits as select * from '{folder}/parquet/*.parquet'")
        (a_hash,) = connection.execute("select max(hash_5) from hits").fetchone()
        answers = []
        for template in _queries():
            found = connection.execute(template.format(**_BOTH, **_DUCKDB, a_hash=a_hash))
            rows = found.fetchall()
            answers.append(
                _by_name([name for name, *_ in found.description], rows) if "select *" in template else rows
            )
        return answers


def _by_name(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Return rows with their values in the order of the names, as each system has an order of its own."""
    order = sorted(range(len(names)), key=lambda at: names[at])
    return [tuple(row[at] for at in order) for row in rows]


def _ingest(cluster: BenchmarkCluster, table: str, folder: Path, file_format: str, rows: int) -> None:
    configs = {
        "inputDirURI": f"file://{folder / file_format}",
        "inputFormat": file_format,
        "consistentPushEnabled": "true",
    }
    cluster.client.tables.set_task_config(f"{table}_OFFLINE", TASK_TYPE, configs)
    program = Path(sys.executable).with_name("pinotctl")
    command = [str(program), "--controller", cluster.local.controller_url, "task", "run", table]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    cluster.wait_rows(table, rows)


def main() -> None:
    """Run the benchmark, print a table and write JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--formats", nargs="+", choices=_FORMATS, default=_FORMATS)
    parser.add_argument("--dir", type=Path, default=Path(".work/clickbench"))
    parser.add_argument("--port-base", type=int, default=21900)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/clickbench.json"))
    arguments = parser.parse_args()
    folder = arguments.dir.absolute()
    rows = wide_table(arguments.rows)
    write_files(rows, folder, sorted({"parquet", *arguments.formats}), arguments.files)
    expected = _answers(folder)
    outcomes: dict[str, list[_Compared]] = {}
    with open_cluster(folder, arguments.port_base) as cluster:
        for file_format in arguments.formats:
            table = cluster.create_table(f"hits_{file_format}", rows.schema, default_text="")
            _ingest(cluster, table, folder, file_format, arguments.rows)
            outcomes[file_format] = list(_compare(cluster, table, expected))
            cluster.drop(table)
    kinds = ("equal", "differs", "refused")
    show(
        [
            {"format": name, **{kind: sum(each.outcome == kind for each in found) for kind in kinds}}
            for name, found in outcomes.items()
        ]
    )
    for name, found in outcomes.items():
        for each in found:
            if each.outcome != "equal":
                print(f"{name}, query {each.query}: {each.outcome}: {each.seen}")
    save(arguments.json, {name: [vars(each) for each in found] for name, found in outcomes.items()})


if __name__ == "__main__":
    main()
