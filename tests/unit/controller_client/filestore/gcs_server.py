"""A bucket with the parts of Google Cloud Storage's JSON API that gcsfs uses, to test its handling of names.

It stands in for no guarantee of Google's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, unquote, urlsplit

from tests.unit.controller_client.scripted_server import ScriptedServer, Seen, Step, answer

_OBJECTS = "/storage/v1/b/bucket/o"


@dataclass
class Bucket:
    """Objects by name, each with its content and generation.

    Attributes:
        page: How many objects a page of a listing has.
    """

    objects: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    page: int = 2
    _written: int = 0

    def put(self, name: str, content: bytes) -> None:
        self._written += 1
        self.objects[name] = content, self._written

    def respond(self, seen: Seen) -> Step:
        path, query = seen.path, {key: each[0] for key, each in parse_qs(urlsplit(seen.target).query).items()}
        if "/rewriteTo/" in path:
            old, new = (unquote(part.rpartition("/")[2]) for part in path.split("/rewriteTo/"))
            self.put(new, self.objects[old][0])
            return answer(200, {"done": True, "resource": self._described(new)})
        if seen.method == "POST":
            _, described, body = seen.body.split(b"\n\n", 2)
            name = json.loads(described.partition(b"\n--==0==")[0])["name"]
            self.put(name, body.removesuffix(b"\n--==0==--"))
            return answer(200, self._described(name))
        if path == _OBJECTS:
            return answer(200, self._listed(query.get("prefix", ""), query))
        name = unquote(path.rpartition("/")[2])
        if name not in self.objects:
            return answer(404, {"error": {"code": 404, "message": "No such object"}})
        if seen.method == "DELETE":
            del self.objects[name]
            return answer(204)
        if path.startswith("/download"):
            return answer(200, self.objects[name][0])
        return answer(200, self._described(name))

    def _listed(self, prefix: str, query: dict[str, str]) -> dict[str, object]:
        delimiter, begin = query.get("delimiter"), int(query.get("pageToken", "0"))
        names = sorted(name for name in self.objects if name.startswith(prefix))
        prefixes: set[str] = set()
        if delimiter:
            deeper = {name for name in names if delimiter in name[len(prefix) :]}
            prefixes = {prefix + name[len(prefix) :].partition(delimiter)[0] + delimiter for name in deeper}
            names = [name for name in names if name not in deeper]
        shown = [self._described(name) for name in names[begin : begin + self.page]]
        more = {"nextPageToken": str(begin + self.page)} if begin + self.page < len(names) else {}
        return {"kind": "storage#objects", "items": shown, "prefixes": sorted(prefixes), **more}

    def _described(self, name: str) -> dict[str, object]:
        content, generation = self.objects[name]
        return {
            "name": name,
            "bucket": "bucket",
            "size": str(len(content)),
            "generation": str(generation),
            "updated": "2026-01-02T03:04:05.678Z",
        }


@contextmanager
def serving(bucket: Bucket) -> Iterator[ScriptedServer]:
    """Serve a bucket."""
    with ScriptedServer() as server:
        server.answers = bucket.respond
        yield server
