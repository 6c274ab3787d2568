"""Folders that Spark writes for partition columns: our reading of their names is Spark's own."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from jvm_bridge.folder_columns import folder_columns

PLACES = [
    *(
        "Bonn",
        "New York",
        "Zürich",
        "日本",
        "a=b",
        "5%",
        "%41",
        "a/b",
        "a\\b",
        "x:y",
        'say "a"',
        "it's",
        "[a]{b}",
    ),
    *("..", ".", "_a", "+", "tab\there", "*?", "#", "", "null", "NULL", None),
]


def test_names_of_folders(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "rows"
    rows = spark.createDataFrame(list(enumerate(PLACES)), "number int, place string").coalesce(1)
    rows.write.partitionBy("place").parquet(str(folder))
    read = {
        (number, folder_columns(path.relative_to(folder).as_posix())["place"])
        for path in folder.rglob("part-*.parquet")
        for number in pq.ParquetFile(path).read().column("number").to_pylist()
    }
    by_spark = spark.read.schema("number int, place string").parquet(str(folder)).collect()
    assert read == {(row["number"], row["place"]) for row in by_spark}
    assert len(read) == len(PLACES)
