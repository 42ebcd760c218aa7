"""A question to a process of its own: started for it, with a time limit, and gone afterwards.

The process reads one JSON line from its standard input. It answers on a pipe of its own, in
JSON lines: what it is doing, then either its answer or what it refuses.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lab.kit.faults import LabFault, UsageFault
from lab.kit.run_folder import LAB

MAX_ANSWER_BYTES = 256 * 2**20

LAST_WORDS = 2_000
"""Characters kept of what a process that died wrote on standard error."""


class ProcessLost(LabFault):
    """A process ended without an answer."""

    kind = "process"


def ask(
    module: str, question: Mapping[str, Any], *, limit_s: float, tell: Callable[[str], None]
) -> dict[str, Any]:
    """The answer of `python -m module`, which is told to `tell` step by step; or its refusal."""
    answers, write_end = os.pipe()
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", module, str(write_end)],
                cwd=LAB.parent,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                pass_fds=(write_end,),
                start_new_session=True,  # so that its whole group can be stopped
            )
        except BaseException:
            os.close(answers)
            raise
        finally:
            os.close(write_end)
        try:
            with contextlib.suppress(BrokenPipeError), process.stdin as stdin:  # type: ignore[union-attr]
                stdin.write(f"{json.dumps(question)}\n".encode())
            for line in _lines(answers, limit_s):
                said = json.loads(line)
                if "answer" in said:
                    answer: dict[str, Any] = said["answer"]
                    return answer
                if "fault" in said:
                    raise _fault(**said["fault"])
                tell(said["doing"])
            code = process.wait()
            errors.seek(0)
            words = errors.read().decode("utf-8", "replace")[-LAST_WORDS:].strip()
            raise ProcessLost(f"the process ended with exit code {code} and no answer\n{words}")
        finally:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            os.close(answers)


def serve(work: Callable[[Mapping[str, Any], Callable[[str], None]], Mapping[str, Any]]) -> int:
    """Be such a process: hand the question to `work`, and send what it returns or refuses."""
    if len(sys.argv) != 2:
        sys.exit("This module answers a lab, which starts it.")
    with os.fdopen(int(sys.argv[1]), "w") as pipe:

        def say(key: str, value: object) -> None:
            pipe.write(f"{json.dumps({key: value})}\n")
            pipe.flush()

        try:
            say("answer", work(json.loads(sys.stdin.readline()), lambda text: say("doing", text)))
        except LabFault as fault:
            say("fault", {"kind": fault.kind, "message": str(fault)})
            return fault.exit_code
    return 0


def _fault(kind: str, message: str) -> LabFault:
    """A fault as the other process raised it."""
    classes = {each.kind: each for each in LabFault.__subclasses__()}
    return classes.get(kind, LabFault)(message)


def _lines(answers: int, limit_s: float) -> Iterator[bytes]:
    """Whole lines until the pipe is closed; a fault when they take too long or grow too large."""
    deadline, waiting, size = time.monotonic() + limit_s, b"", 0
    while True:
        left_s = deadline - time.monotonic()
        if left_s <= 0 or not select.select([answers], [], [], left_s)[0]:
            raise UsageFault(f"no answer within {limit_s:g} s; allow more with --limit")
        part = os.read(answers, 2**20)
        if not part:
            return
        size += len(part)
        if size > MAX_ANSWER_BYTES:
            raise ProcessLost(f"an answer of more than {MAX_ANSWER_BYTES:,} bytes")
        *lines, waiting = (waiting + part).split(b"\n")
        yield from lines
