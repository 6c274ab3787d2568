"""Judges randomly changed tars within tight limits on memory and CPU time, and counts the outcomes.

    python -m tests.unit.controller_client.segment_tar.fuzz_program COUNT SEED

The last line of output is a JSON document. An accepted copy must have exactly the files of the segment as it
was committed; of creation.meta only the checksums are proven.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import tempfile
from collections import Counter
from pathlib import Path

from controller_client.errors import DataError
from controller_client.segment_tar import Proof, TarLimits, judge_copy, repack, unpack_tar
from controller_client.segment_tar.layout import parse_index_map
from tests.unit.controller_client.segment_tar.corpus import LIMITS, SEGMENTS, expected_of, files_of, pack
from tests.unit.controller_client.segment_tar.mutations import MUTATIONS, Subject

_MIB = 1 << 20
_MEMORY_BYTES = 256 * _MIB
_CPU_S_EACH = 0.5
_LIMITS = TarLimits(max_tar_bytes=4 * _MIB, max_unpacked_bytes=16 * _MIB)


def committed_files(path: Path, folder: Path) -> dict[str, bytes]:
    """Return the files of a segment without what a server has added."""
    tar = folder / "committed.tar.gz"
    tar.write_bytes(path.read_bytes())
    verdict = judge_copy(tar, expected_of(path), LIMITS)
    repack(tar, verdict.content, verdict.committed, "seg", LIMITS)
    return files_of(tar)


def rows_of(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return what the data crc covers."""
    entries = parse_index_map(files["v3/index_map"])
    found = {
        entry.name: files["v3/columns.psf"][entry.start + 8 : entry.start + entry.size_bytes]
        for entry in entries
    }
    return {name: data for name, data in found.items() if name.endswith((".forward_index", ".dictionary"))}


def outcome_of(path: Path, packed: bytes, wanted: dict[str, bytes], folder: Path) -> str:
    """Judge, repack and unpack a tar; return ``refused``, ``right``, or what is wrong."""
    tar = folder / "s.tar.gz"
    tar.write_bytes(packed)
    try:
        verdict = judge_copy(tar, expected_of(path), _LIMITS)
        if verdict.proof is None:
            return "refused"
        repack(tar, verdict.content, verdict.committed, "seg", _LIMITS)
    except DataError:
        return "refused"
    unpacked = unpack_tar(tar, folder, "seg")
    found = {
        str(each.relative_to(unpacked)): each.read_bytes() for each in unpacked.rglob("*") if each.is_file()
    }
    if verdict.proof is Proof.DATA:
        same = rows_of(wanted).items() <= rows_of(found).items()
        return "right rows" if same else "WRONG ROWS"
    label = "v3/creation.meta" if "v3/creation.meta" in wanted else "creation.meta"
    same_label = found.pop(label)[:8] == wanted[label][:8]
    return (
        "right"
        if same_label and found == {path: data for path, data in wanted.items() if path != label}
        else "WRONG"
    )


def main(count: int, seed: int) -> None:
    """Change tars, judge them, and count the outcomes."""
    memory = _MEMORY_BYTES + resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 * 4
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    most_cpu_s = int(60 + count * _CPU_S_EACH)
    resource.setrlimit(resource.RLIMIT_CPU, (most_cpu_s, most_cpu_s))
    rng = random.Random(seed)
    paths = [path for path, proof in SEGMENTS.items() if proof is not None]
    outcomes: Counter[str] = Counter()
    wrong = []
    with tempfile.TemporaryDirectory() as work:
        wanted = {path: committed_files(path, Path(work)) for path in paths}
        for number in range(count):
            path, mutate = rng.choice(paths), rng.choice(MUTATIONS)
            files = files_of(path)
            subject = Subject(files, pack(files), path.read_bytes())
            packed = mutate(rng, subject)
            with tempfile.TemporaryDirectory(dir=work) as folder:
                outcome = outcome_of(path, packed, wanted[path], Path(folder))
            outcomes[outcome] += 1
            if "WRONG" in outcome:
                wrong.append([number, path.name, mutate.__name__])
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu_s = round(used.ru_utime + used.ru_stime, 1)
    report = {"outcomes": outcomes, "wrong": wrong, "peak_mib": used.ru_maxrss // 1024, "cpu_s": cpu_s}
    print(json.dumps(report))  # noqa: T201  # read by the test


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
