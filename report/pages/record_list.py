"""The list of records, one line each: what was looked into, where, and by which files."""

from report.pages.anchors import relative
from report.pages.exhibits import Context
from report.pages.press import Press
from report.pages.profile_page import path_of as profile_path
from report.pages.record_kinds import PURPOSES


def record_summary(press: Press, name: str, page: str) -> Context:
    """One line of the list of records, with links as `page` writes them."""
    record = press.evidence[name].record
    run = press.study.runs[name]
    return {
        "name": name,
        "href": relative(f"records/{name}.html", page),
        "purpose": PURPOSES[type(run)],
        "profile": relative(profile_path(name), page) if name in press.study.traces else "",
        "device": run.device,
        "extent": run.extent,
        "recorded": run.recorded_at[:10],
        "level": press.evidence[name].level,
        "files": len(record.files),
        "digest": record.manifest_sha256[:12],
        "sha256": record.manifest_sha256,
    }
