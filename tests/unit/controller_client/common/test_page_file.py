"""A page is written completely or not at all."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from controller_client.common.new_file import write_page
from controller_client.errors import ConfigError


def test_a_page_is_written_and_replaced(tmp_path: Path) -> None:
    file = tmp_path / "a.html"
    write_page(file, "one ü")
    assert file.read_text(encoding="utf-8") == "one ü"
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(file.stat().st_mode) == 0o666 & ~mask
    file.chmod(0o640)
    write_page(file, "two")
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("two", 0o640)
    assert list(tmp_path.iterdir()) == [file], "nothing else is left"


def test_a_reader_sees_one_of_the_pages_whole(tmp_path: Path) -> None:
    file, pages = tmp_path / "a.html", ["a" * 300_000, "b" * 200_000]
    write_page(file, pages[0])
    seen: set[str] = set()
    is_over = threading.Event()

    def read() -> None:
        while not is_over.is_set():
            seen.add(file.read_text())

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(50):
        write_page(file, pages[number % 2])
    is_over.set()
    reader.join()
    assert seen <= set(pages)


def test_a_link_leads_to_the_page(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("old")
    link = tmp_path / "link.html"
    link.symlink_to("a.html")
    write_page(link, "new")
    assert link.is_symlink()
    assert (tmp_path / "a.html").read_text() == "new"


def test_what_is_not_a_regular_file_is_written_directly(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_page(pipe, "page")
    reader.join()
    assert read == ["page"]
    assert pipe.is_fifo()


@pytest.mark.parametrize("name", ["gone/a.html", "."])
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="the page cannot be written") as caught:
        write_page(tmp_path / name, "page")
    assert caught.value.where == str(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_the_umask_of_the_process_is_applied_but_never_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = os.umask(0o027)
    try:
        monkeypatch.setattr(os, "umask", None)
        write_page(tmp_path / "a.html", "one")
    finally:
        monkeypatch.undo()
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.html").stat().st_mode) == 0o640
