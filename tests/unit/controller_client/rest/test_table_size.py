"""The size of a table out of Pinot's answer and its ideal state."""

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


def test_what_no_server_has_reported_is_named() -> None:
    size = TableSize.from_json("t_OFFLINE", ANSWER, IDEAL)
    assert (size.reported_bytes, size.estimated_bytes) == (130, 160)
    # Pinot's answer leaves out d, which s1 should have, and s3 of b: both answered without them.
    assert size.missing == ("c", "d")
    assert size.silent_servers == ("s1", "s2", "s3")
    assert size.segment_bytes() == {"a": 30, "b": 100}


def test_sums_of_servers_are_of_what_they_have_reported() -> None:
    size = TableSize.from_json("t_OFFLINE", ANSWER, IDEAL)
    assert size.by_server() == {"s1": (2, 130), "s2": (0, 0), "s3": (0, 0)}


def test_an_empty_table_and_one_that_nobody_reports() -> None:
    empty = TableSize.from_json("t_OFFLINE", {"offlineSegments": {"reportedSizeInBytes": 0}}, {})
    assert (empty.reported_bytes, empty.segments, empty.missing) == (0, (), ())
    silent = TableSize.from_json("t_REALTIME", {"realtimeSegments": {"reportedSizeInBytes": -1}}, IDEAL)
    assert (silent.reported_bytes, silent.missing) == (None, ("a", "b", "c", "d"))
