"""One client takes a result of a million rows and says what it cost; run as a child process.

Arguments: the client's name, the server's address, the SQL. It is run by the Python that has that client, so
nothing of this project is imported but where it is the client.
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
    """This project."""
    from controller_client.broker import BrokerClient

    with BrokerClient([url]) as broker:
        result = broker.query(sql, timeout_s=60)
    return getattr(result, form)() if form.startswith("to_") else result.rows


def pinotdb(url: str, sql: str) -> Any:
    """The client that Pinot's documentation names, and a DataFrame of its rows."""
    import pandas as pd
    from pinotdb import connect  # type: ignore[import-not-found]

    place = urlsplit(url)
    connection = connect(host=place.hostname, port=place.port, path="/query/sql", scheme="http", timeout=60)
    cursor = connection.cursor()
    cursor.execute(sql)
    return pd.DataFrame(cursor.fetchall(), columns=[each[0] for each in cursor.description])


def clickhouse_connect(url: str, sql: str) -> Any:
    """ClickHouse's own client."""
    import clickhouse_connect as client  # type: ignore[import-not-found]

    place = urlsplit(url)
    return client.get_client(host=place.hostname, port=place.port, compress=False).query_df(sql)


def bytes_alone(url: str, sql: str) -> Any:
    """What each client of Pinot waits for: the answer, not parsed."""
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
    """The most memory that this process has had."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
    return int(line.split()[1]) // 1024


def main() -> None:
    """Take the result, and print what it cost as JSON."""
    name, url, sql = sys.argv[1:]
    take = CLIENTS[name]
    # Modules are imported, and the server has run the query, before the clock starts.
    take(url, f"{sql} limit 1000")
    began_s, cpu_s = time.perf_counter(), time.process_time()
    found = take(url, f"{sql} limit 1000000")
    seconds, cpu_s = time.perf_counter() - began_s, time.process_time() - cpu_s
    told: dict[str, Any] = {
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu_s, 2),
        "peak_mib": peak_mib(),
        "size": len(found),
    }
    if hasattr(found, "dtypes"):
        first = {column: found[column].iloc[0] for column in found.columns}
        told["types"] = {
            column: kind if (kind := str(found.dtypes[column])) != "object" else type(first[column]).__name__
            for column in found.columns
        }
        told["first"] = {column: str(value) for column, value in first.items()}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
