"""A run folder: made once, written piece by piece, sealed by a manifest.

Each file appears whole or not at all. The manifest comes last, so a folder without
one belongs to a run that was killed.
"""

import ast
import errno
import hashlib
import io
import json
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lab.kit.faults import LabFault, UsageFault
from lab.kit.redaction import Redactor

LAB = Path(__file__).resolve().parents[1]
"""The lab package whose modules are copied into a run."""

MANIFEST = "manifest.sha256"

OF_THE_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EIO}
"""System errors that tell of the reader's disk, not of a bug here."""

INTERRUPTED = 130
"""Exit code after Ctrl-C, by the shell's convention."""


class RunFolder:
    """The folder of one run. Names are relative, with forward slashes."""

    def __init__(self, path: Path, redactor: Redactor) -> None:
        self.path = path
        self.redactor = redactor
        self.finished: list[str] = []
        """Stages that came to their end, in order."""
        self._stage = "start"

    @classmethod
    def create(cls, path: Path, redactor: Redactor) -> "RunFolder":
        """Make a new folder; refuse, and leave untouched, one that is already there."""
        if os.path.lexists(path):
            raise UsageFault(
                f"{path} is already there and stays as it is; name a new folder with --run-dir"
            )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir()
        except OSError as problem:
            raise UsageFault(f"{path} cannot be made: {problem.strerror}") from None
        return cls(path, redactor)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Say on standard error what is going on, and remember it when it is done."""
        self._stage = name
        print(f"  {name} ...", file=sys.stderr, flush=True)
        yield
        self.finished.append(name)

    def write(self, name: str, data: bytes) -> str:
        """Write bytes as they are and return their SHA-256."""
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f".{target.name}.part")
        with part.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
        return hashlib.sha256(data).hexdigest()

    def write_program(self, name: str, text: str) -> str:
        """Write the text of a program, without paths, and return its SHA-256."""
        return self.write(name, self.redactor.text(text, name, names=False).encode())

    def write_json(self, name: str, value: object) -> str:
        """Write redacted, strict JSON with sorted keys and return its SHA-256."""
        text = json.dumps(
            self.redactor.value(value, name),
            ensure_ascii=False,
            allow_nan=False,
            sort_keys=True,
            indent=1,
        )
        return self.write(name, f"{text}\n".encode())

    def write_array(self, name: str, array: NDArray[np.generic]) -> str:
        """Write a .npy file and return its SHA-256."""
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=False)
        return self.write(name, buffer.getvalue())

    def copy_sources(self, module: Path) -> None:
        """Copy, byte for byte, a lab module and every lab module it imports in turn."""
        for source in imported_sources(module):
            self.write(f"sources/{source.relative_to(LAB.parent).as_posix()}", source.read_bytes())

    def seal(self) -> None:
        """Write the manifest: the SHA-256 of every other file, by name."""
        names = sorted(
            path.relative_to(self.path).as_posix()
            for path in self.path.rglob("*")
            if path.is_file()
        )
        lines = [
            f"{hashlib.sha256((self.path / name).read_bytes()).hexdigest()}  {name}\n"
            for name in names
            if name != MANIFEST
        ]
        self.write(MANIFEST, "".join(lines).encode())

    def fail(self, problem: BaseException) -> int:
        """Close the run with failure.json in place of a report; return the exit code."""
        stage, kind, message = self._stage, type(problem).__name__, str(problem)
        if isinstance(problem, KeyboardInterrupt):
            stage, message, exit_code = "interrupted", f"interrupted during: {stage}", INTERRUPTED
        elif isinstance(problem, LabFault):
            kind, exit_code = problem.kind, problem.exit_code
        elif isinstance(problem, OSError) and problem.errno in OF_THE_DISK:
            kind, exit_code = UsageFault.kind, UsageFault.exit_code
            message = f"{problem.strerror}, while writing the run"
        else:
            traceback.print_exception(problem)
            exit_code = 1
        self._drop_unfinished()
        failure = {
            "schema": "assay/failure/1",
            "stage": stage,
            "kind": kind,
            "message": message,
            "finished": self.finished,
        }
        try:
            self.write_json("failure.json", failure)
            self.seal()
            told = f"see {self.path / 'failure.json'}"
        except OSError as second:  # the disk that failed the run may hold no more
            self._drop_unfinished()
            told = f"and {self.path} cannot say so itself: {second.strerror}"
        print(f"no report: {message}\n  {told}", file=sys.stderr)
        return exit_code

    def _drop_unfinished(self) -> None:
        """Remove what would make a run that failed look whole."""
        unfinished = [MANIFEST, "report.json"]
        for leftover in (*self.path.rglob(".*.part"), *map(self.path.joinpath, unfinished)):
            leftover.unlink(missing_ok=True)


def imported_sources(module: Path) -> list[Path]:
    """A lab module, the lab modules it imports in turn, and their packages' __init__ files."""
    found: set[Path] = set()
    waiting = [module.resolve()]
    while waiting:
        source = waiting.pop()
        if source in found or not source.is_file():
            continue
        found.add(source)
        waiting.append(source.parent / "__init__.py")
        for node in ast.walk(ast.parse(source.read_bytes())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            else:
                continue
            waiting.extend(_module_path(name) for name in names if name.split(".")[0] == LAB.name)
    return sorted(found)


def _module_path(name: str) -> Path:
    """Where a module of the lab would be; a name inside a module leads nowhere."""
    path = LAB.parent.joinpath(*name.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
