"""Runs each program of a precision request many times on one core, and tells its outputs apart.

`lab.replay` starts this as a process of its own: the request comes on standard input and the
answer goes to standard output, both as JSON. The pin comes before JAX starts its threads.
"""

import json
import sys

from lab.kit import backend, repeats
from lab.precision_profile import CASES, POLICIES, Request, compile_product, make_inputs, prepare


def main() -> int:
    """Answer {"core": …, "programs": {id: what `REPEATS` runs gave}}."""
    request = Request(**json.load(sys.stdin))
    core = repeats.pin()
    device = backend.start(request.platform)
    inputs = make_inputs(request)
    programs = {}
    for case in CASES:
        for policy in POLICIES:
            name = f"{case}-{policy}"
            program = compile_product(name, prepare(inputs[case], policy), device)
            programs[name] = repeats.repeat(program.run).as_json()
    json.dump({"core": core, "programs": programs}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
