"""What follows from a replay: how many fields earned each verdict, and the verdicts in words."""

from report.numbers.replay import WORDS, Replay
from report.numbers.workings import Workings


def work_out_replay(replay: Replay, note: Workings) -> None:
    """Write down `study#/replay/<run>/…`, verdicts in words included."""
    base, document = f"replay/{replay.name}", f"{replay.name}#"
    for word in WORDS:
        key = word.replace(" ", "_")
        formula = rf"\text{{number of fields whose verdict is: {word}}}"
        note.derive(f"{base}/{key}", replay.count(word), formula, f"{document}/counts/{word}")
    note.derive(
        f"{base}/compared",
        sum(replay.count(word) for word in WORDS if word != "not comparable"),
        r"\text{fields that can be compared}",
        *(f"{document}/counts/{word}" for word in WORDS if word != "not comparable"),
    )
    every = [f"{document}/counts/{word}" for word in WORDS]
    note.derive(f"{base}/verdict", replay.verdict, r"\text{the verdicts, in words}", *every)
    distinct = [f"{document}/determinism/{name}/free/distinct" for name in replay.repeats]
    note.derive(
        f"{base}/steady", replay.steady, r"\text{the numbers of outputs, in words}", *distinct
    )
    note.derive(
        f"{base}/most_outputs",
        max(max(each.distinct, each.pinned or 0) for each in replay.repeats.values()),
        r"\max_p\, (\text{outputs of program } p)",
        *distinct,
        kind="measured",
    )
    for name, group in replay.fields.items():
        for key, field in group.items():
            if field.ulp is not None:
                place = f"{document}/fields/{name}/{key}"
                note.derive(
                    f"{base}/{name}/{key}",
                    field.words,
                    r"\text{the verdict, in words}",
                    f"{place}/recorded",
                    f"{place}/here",
                )
        split = replay.splits[name]
        if split.recorded is None and split.at_least is not None:
            note.derive(
                f"{base}/{name}/accumulation_at_least",
                split.at_least,
                r"|\varepsilon_{\mathrm{recorded}} - \varepsilon_{\mathrm{representation}}|",
                f"{document}/fields/{name}/relative_l2_error/recorded",
                f"{document}/accumulation/{name}/representation",
            )
