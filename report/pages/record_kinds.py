"""Which module sets the page of a record, and what such a record is for, by the kind of its run."""

from collections.abc import Callable, Mapping
from typing import Any

from report.evidence import Evidence
from report.numbers.lowering import Preflight
from report.numbers.own import OwnRun
from report.numbers.precision import PrecisionRun
from report.numbers.replay import Replay
from report.numbers.representations import RepresentationsRun
from report.numbers.run import Run
from report.numbers.sweep import SweepRun
from report.numbers.timing import TimingRun
from report.pages.compiled_page import set_compiled
from report.pages.own_page import set_own
from report.pages.press import Press
from report.pages.record_page import Steps, set_record
from report.pages.replay_page import set_replay
from report.pages.representations_page import set_representations
from report.pages.sweep_page import set_sweep
from report.pages.timing_page import set_timing

Setter = Callable[[Press, Evidence, Any, Steps], None]

SETTERS: Mapping[type[Run], Setter] = {
    PrecisionRun: set_record,
    Preflight: set_compiled,
    RepresentationsRun: set_representations,
    Replay: set_replay,
    SweepRun: set_sweep,
    TimingRun: set_timing,
    OwnRun: set_own,
}

PURPOSES: Mapping[type[Run], str] = {
    PrecisionRun: "Errors, bytes and times of one product in FP32, BF16 and INT8.",
    Preflight: "What compilers make of programs for devices that were not there.",
    RepresentationsRun: "One set of operands under every policy: errors by their parts, bounds.",
    Replay: "Every field of a run beside one worked out here: exact, near, or different.",
    SweepRun: "One product at growing batch, under ceilings that its own device reached.",
    TimingRun: "Which differences between times may be claimed.",
    OwnRun: "A run of a lab of your own, every field as written.",
}
"""What a reader finds in a record, for the list of records."""
