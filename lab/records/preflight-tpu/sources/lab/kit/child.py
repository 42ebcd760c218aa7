"""A compiler in a child process: with a time limit, and allowed to abort.

One child answers many requests. If it aborts or runs out of time, that is the answer to the
request it was given, and the next request gets a new child.
"""

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from lab.kit import lowering
from lab.kit.run_folder import LAB
from lab.kit.targets import ENVIRONMENT, SET_ASIDE

MAX_ANSWER_BYTES = 256 * 2**20
FATAL = re.compile(r"^F\d{4} [^\n\]]{1,200}?(\S{1,200}:\d{1,6}\] [^\n]{1,1000})", re.MULTILINE)
"""The line in which a compiler says why it aborts, without its time and process number."""

LAST_WORDS = 2_000
"""Characters kept of what an aborted compiler wrote on standard error."""


class Compiler:
    """Asks a child process to compile, and starts another when one is lost."""

    def __init__(self, *, limit_s: float, flags: Mapping[str, str] | None = None) -> None:
        self.limit_s = limit_s
        self._flags = dict(flags or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._answers = -1
        self._errors: IO[bytes] | None = None

    def __enter__(self) -> "Compiler":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self._stop()

    def compile(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The child's answer; or that it aborted, or was stopped at the time limit."""
        if self._process is None:
            self._start()
        process = self._process
        if process is None or process.stdin is None:
            raise RuntimeError("the child has no standard input")
        started = time.monotonic()
        try:
            process.stdin.write(f"{json.dumps(request)}\n".encode())
            process.stdin.flush()
            line = self._read_line(started + self.limit_s)
        except (BrokenPipeError, EOFError):
            code = process.wait()
            code = 128 - code if code < 0 else code
            words = self._last_words() or f"its process ended with code {code}, without a word"
            self._stop()
            return {"status": "aborted", "exit_code": code, "message": words}
        except TimeoutError:
            self._stop()
            return {
                "status": "stopped",
                "message": f"no answer within {self.limit_s:g} s, so the compiler was stopped",
            }
        found: dict[str, Any] = json.loads(line)
        return found

    def _start(self) -> None:
        inherited = {name: text for name, text in os.environ.items() if name not in SET_ASIDE}
        places = [str(LAB.parent), str(Path.cwd()), inherited.get("PYTHONPATH", "")]
        environment = {**inherited, **ENVIRONMENT, **self._flags}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, places))
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed when the child is)
        self._answers, write_end = os.pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", lowering.__name__, str(write_end)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                pass_fds=(write_end,),
                env=environment,
                start_new_session=True,  # so that its whole group can be stopped
            )
        finally:
            os.close(write_end)

    def _read_line(self, deadline: float) -> bytes:
        parts: list[bytes] = []
        size = 0
        while True:
            left_s = deadline - time.monotonic()
            if left_s <= 0 or not select.select([self._answers], [], [], left_s)[0]:
                raise TimeoutError
            part = os.read(self._answers, 2**20)
            if not part:
                raise EOFError
            parts.append(part)
            size += len(part)
            if size > MAX_ANSWER_BYTES:
                raise TimeoutError
            if part.endswith(b"\n"):
                return b"".join(parts)

    def _last_words(self) -> str:
        if self._errors is None:
            return ""
        self._errors.seek(0)
        text = self._errors.read().decode("utf-8", "replace")
        fatal = FATAL.search(text)
        return fatal[1].strip() if fatal else text[-LAST_WORDS:].strip()

    def _stop(self) -> None:
        """End the child and all it started; nothing else."""
        process, self._process = self._process, None
        if process is not None:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            if process.stdin is not None:
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.close()
            process.wait()
            os.close(self._answers)
        if self._errors is not None:
            self._errors.close()
            self._errors = None
