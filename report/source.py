"""Where a value came from: its name, its address, its digest, the day it was checked."""

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """An origin. `href` is an absolute https address or a path inside the site."""

    name: str
    href: str
    sha256: str | None = None
    checked: date | None = None
    """The day a person read the source, for documents."""

    @property
    def digest(self) -> str:
        """The first twelve hexadecimal digits, enough to tell files apart by eye."""
        return self.sha256[:12] if self.sha256 else ""
