"""Reads a result of a million rows with one client and reports the cost; runs as a child process.

Arguments: the client's name, the server's address, the SQL. It runs in the Python environment of that client,
so it imports this project only where this project is the client.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


def plugins(url: str, sql: str, form: str) -> Any:
    """Query with this project."""
    from controller_client.broker import BrokerClient

    with BrokerClient([url]) as broker:
        result = broker.query(sql, timeout_s=60)
    return getattr(result, form)() if form.startswith("to_") else result.rows


def pinotdb(url: str, sql: str) -> Any:
    """Query with pinotdb, which Pinot's documentation recommends; return a DataFrame of its rows."""
    import pandas as pd
    from pinotdb import connect  # type: ignore[import-not-found]

    address = urlsplit(url)
    connection = connect(
        host=address.hostname, port=address.port, path="/query/sql", scheme="http", timeout=60
    )
    cursor = connection.cursor()
    cursor.execute(sql)
    return pd.DataFrame(cursor.fetchall(), columns=[each[0] for each in cursor.description])


def clickhouse_connect(url: str, sql: str) -> Any:
    """Query with ClickHouse's own client."""
    import clickhouse_connect as client  # type: ignore[import-not-found]

    address = urlsplit(url)
    return client.get_client(host=address.hostname, port=address.port, compress=False).query_df(sql)


def bytes_alone(url: str, sql: str) -> Any:
    """Fetch the response without parsing it: each client of Pinot waits for this."""
    import requests

    return requests.post(f"{url}/query/sql", json={"sql": sql}, timeout=60).content


CLIENTS: dict[str, Callable[[str, str], Any]] = {
    "pinot-plugins to_pandas": lambda url, sql: plugins(url, sql, "to_pandas"),
    "pinot-plugins to_arrow": lambda url, sql: plugins(url, sql, "to_arrow"),
    "pinot-plugins rows": lambda url, sql: plugins(url, sql, "rows"),
    "pinotdb": pinotdb,
    "clickhouse-connect": clickhouse_connect,
    "bytes alone": bytes_alone,
}


def peak_mib() -> int:
    """Return the peak memory of this process."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
    return int(line.split()[1]) // 1024


def main() -> None:
    """Fetch the result and print its cost as JSON."""
    name, url, sql = sys.argv[1:]
    fetch = CLIENTS[name]
    # Before the clock starts, a small query imports the modules and warms up the server.
    fetch(url, f"{sql} limit 1000")
    began_s, cpu_s = time.perf_counter(), time.process_time()
    result = fetch(url, f"{sql} limit 1000000")
    seconds, cpu_s = time.perf_counter() - began_s, time.process_time() - cpu_s
    cost: dict[str, Any] = {
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu_s, 2),
        "peak_mib": peak_mib(),
        "size": len(result),
    }
    if hasattr(result, "dtypes"):
        first = {column: result[column].iloc[0] for column in result.columns}
        cost["types"] = {
            column: kind if (kind := str(result.dtypes[column])) != "object" else type(first[column]).__name__
            for column in result.columns
        }
        cost["first"] = {column: str(value) for column, value in first.items()}
    print(json.dumps(cost))


if __name__ == "__main__":
    main()
