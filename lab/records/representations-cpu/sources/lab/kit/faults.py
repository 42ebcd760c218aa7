"""What a lab refuses, and the exit code each refusal earns."""

from typing import ClassVar


class LabFault(Exception):
    """A refusal with a plain message. Anything else that is raised is a bug of ours."""

    exit_code: ClassVar[int] = 1
    kind: ClassVar[str] = "fault"


class UsageFault(LabFault):
    """The command line asks for something that cannot be done."""

    exit_code = 2
    kind = "usage"


class BackendMissing(LabFault):
    """The requested platform is not on this machine. There is no fallback."""

    exit_code = 3
    kind = "missing"


class CompileRefused(LabFault):
    """The compiler refused a program."""

    exit_code = 4
    kind = "compile"


class CheckFailed(LabFault):
    """Numbers, or a captured trace, are not what they have to be."""

    exit_code = 5
    kind = "numerical"
