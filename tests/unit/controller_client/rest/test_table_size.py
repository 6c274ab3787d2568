"""The size of a table, from Pinot's response and the ideal state."""

from __future__ import annotations

from controller_client.rest.table_size import TableSize

ANSWER = {
    "tableName": "t",
    "reportedSizeInBytes": 130,
    "estimatedSizeInBytes": 160,
    "offlineSegments": {
        "reportedSizeInBytes": 130,
        "estimatedSizeInBytes": 160,
        "missingSegments": 1,
        "segments": {
            "a": {
                "reportedSizeInBytes": 30,
                "estimatedSizeInBytes": 60,
                "serverInfo": {
                    "s1": {"segmentName": "a", "diskSizeInBytes": 30},
                    "s2": {"segmentName": "a", "diskSizeInBytes": -1},
                },
            },
            "b": {
                "reportedSizeInBytes": 100,
                "estimatedSizeInBytes": 100,
                "serverInfo": {"s1": {"segmentName": "b", "diskSizeInBytes": 100}},
            },
            "c": {
                "reportedSizeInBytes": -1,
                "estimatedSizeInBytes": -1,
                "serverInfo": {"s2": {"segmentName": "c", "diskSizeInBytes": -1}},
            },
        },
    },
    "realtimeSegments": None,
}
IDEAL = {
    "a": {"s1": "ONLINE", "s2": "ONLINE"},
    "b": {"s1": "ONLINE", "s3": "ONLINE"},
    "c": {"s2": "ONLINE"},
    "d": {"s1": "ONLINE"},
}


def test_segments_without_a_report_are_listed() -> None:
    size = TableSize.from_json("t_OFFLINE", ANSWER, IDEAL)
    assert (size.reported_bytes, size.estimated_bytes) == (130, 160)
    # Pinot's response omits d, which s1 should have, and b on s3: both servers answered without them.
    assert size.missing == ("c", "d")
    assert size.silent_servers == ("s1", "s2", "s3")
    assert size.segment_bytes() == {"a": 30, "b": 100}


def test_sums_by_server_include_only_reports() -> None:
    size = TableSize.from_json("t_OFFLINE", ANSWER, IDEAL)
    assert size.by_server() == {"s1": (2, 130), "s2": (0, 0), "s3": (0, 0)}


def test_an_empty_table_and_one_without_reports() -> None:
    empty = TableSize.from_json("t_OFFLINE", {"offlineSegments": {"reportedSizeInBytes": 0}}, {})
    assert (empty.reported_bytes, empty.segments, empty.missing) == (0, (), ())
    silent = TableSize.from_json("t_REALTIME", {"realtimeSegments": {"reportedSizeInBytes": -1}}, IDEAL)
    assert (silent.reported_bytes, silent.missing) == (None, ("a", "b", "c", "d"))
