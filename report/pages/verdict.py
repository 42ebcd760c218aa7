"""What a report decided, and the number that its target is held against."""

from markupsafe import Markup

from report.content import DecisionReport
from report.errors import ContentFault
from report.notation import render
from report.pages.exhibits import Context
from report.pages.press import Press
from report.pages.prose import Galley

OUTCOMES = {"hold": "On hold", "adopt": "Adopted", "reject": "Rejected"}
COMPARATORS = {"<": "below", "<=": "at most", ">": "above", ">=": "at least"}


def verdict_of(press: Press, report: DecisionReport, galley: Galley) -> Context:
    """The decision and its target; the measured number is one that the page claims."""
    goal, decision = report.target, report.decision

    def text(markdown: str, key: str) -> Markup:
        return Markup(galley.text(markdown.strip(), f"{report.path} {key}"))

    metric = f"{{value}}`{goal.metric}; {goal.format}`"
    return {
        "target": {
            "metric": Markup(galley.inline(metric, f"{report.path} target.metric")),
            "statement": text(goal.statement, "target.statement"),
            "threshold": f"{COMPARATORS[goal.comparator]} {render(goal.threshold, goal.format)}",
            "met": goal.met_by(measured_of(press, report)),
        },
        "decision": {
            "outcome": decision.outcome,
            "word": OUTCOMES[decision.outcome],
            "statement": text(decision.statement, "decision.statement"),
            "until": [text(step, "decision.until") for step in decision.until],
        },
    }


def superseded(report: DecisionReport) -> tuple[tuple[str, str], ...]:
    """The fact, in inline Markdown, that a report takes the place of an earlier release."""
    if report.supersedes is None:
        return ()
    earlier = report.supersedes
    return (
        ("Takes the place of", f"`{earlier.release}`, manifest sha256 `{earlier.manifest[:12]}`"),
    )


def measured_of(press: Press, report: DecisionReport) -> int | float | None:
    """The number that the target is held against; none where there is none."""
    try:
        return press.study.values.lookup(report.target.metric).measure
    except ContentFault:
        return None  # the report's own page says why
