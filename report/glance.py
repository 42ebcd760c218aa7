"""A glance at files in place of reading them: how a build that changes nothing answers soonest.

The note of a file is its path, size, inode and two times: of its last change, and of the last
change of its status. No program can set the second, so that an edit shows in it even where size and
first time were put back. Notes are kept only once every file was read, hashed and found unchanged,
and only when all their times lie before that reading began, by the clock of the same file
system: any later edit then has a later time.

What no note can show is a disk that alters bytes by itself, a write below the file system, or an
edit under a clock that was set back. `check`, `release` and `verify` glance at nothing and read
everything; so does a build once `.cache` is deleted. This module keeps to what Python has at hand.
"""
# ruff: noqa: PTH103, PTH105, PTH108, PTH113, PTH116, PTH120, PTH123

import os

from report.inputs import hidden, places, versions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


class Glance:
    """The notes on all that a build of `content` into `out` reads and has written."""

    def __init__(self, root: str, content: str, out: str) -> None:
        self._kept = f"{root}/.cache/glance"
        self._part = f"{self._kept}.{os.getpid()}"
        self._files: list[os.stat_result] = []
        self._begun: os.stat_result | None = None
        lines = [f"{versions(root)} {os.path.realpath(content)} {os.path.realpath(out)}"]
        for _, place in places(root, content):
            lines += self._notes(place, read=True)
        lines += self._notes(out, read=False)
        self._text = "\n".join(lines)

    def unchanged(self) -> bool:
        """Whether every note is as it was when all was read and found unchanged."""
        try:
            with open(self._kept, encoding="utf-8", errors="surrogateescape") as file:
                return file.read() == self._text
        except OSError:
            return False

    def begin(self) -> None:
        """Note the file system's own time; everything is going to be read after it."""
        try:
            os.makedirs(os.path.dirname(self._kept), exist_ok=True)
            with open(self._part, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(self._text)
                self._begun = os.fstat(file.fileno())
        except OSError:  # a full or read-only disk costs time later, not this build
            return

    def end(self, unchanged: bool) -> None:
        """Keep the notes if nothing had changed, and no change can have gone unnoticed since."""
        begun = self._begun
        if begun is None:
            return
        settled = unchanged and all(
            found.st_dev == begun.st_dev
            and max(found.st_mtime_ns, found.st_ctime_ns) < begun.st_mtime_ns
            for found in self._files
        )
        try:
            if settled:
                os.replace(self._part, self._kept)
            else:
                os.unlink(self._part)
        except OSError:
            pass

    def _notes(self, place: str, *, read: bool) -> "Iterator[str]":
        """A line for each file of `place`: of what is written, links and hidden files as well."""
        if os.path.isfile(place):
            yield self._note(place, os.stat(place))
            return
        with os.scandir(place) as entries:
            found = [entry for entry in entries if not (read and hidden(entry.name))]
        if not found:
            yield place
        for entry in found:
            if entry.is_dir(follow_symlinks=read):
                yield from self._notes(entry.path, read=read)
            else:
                yield self._note(entry.path, entry.stat(follow_symlinks=read))

    def _note(self, path: str, found: os.stat_result) -> str:
        self._files.append(found)
        return (
            f"{path} {found.st_mode} {found.st_size} {found.st_dev} {found.st_ino} "
            f"{found.st_mtime_ns} {found.st_ctime_ns}"
        )
