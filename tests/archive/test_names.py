"""Whatever names a release is made of: is each refused, or listed as every verifier reads it?"""

import unicodedata
from functools import partial
from io import BytesIO

from hypothesis import assume, given
from hypothesis import strategies as st

from report.archive.bundle import check_names
from report.archive.manifest import manifest
from report.archive.release import SHOUTED
from report.archive.verify import MANIFEST, Release
from report.errors import ContentFault

PARTS = st.one_of(
    st.sampled_from(["a", "b", "a.b", "readme.md", "README.md", "LICENSE", "license", "-", "_"]),
    st.sampled_from(["", ".", "..", ".git", "a.", "A", "a b", "a\\b", "c:", "con", "nul.txt"]),
    st.sampled_from(["é", "e\u0301", "ſ", "a\n", "a\r", "a\0", "\x1b[2J", "\u202e", "x" * 200]),
    st.text(max_size=3),
)
PATHS = st.sets(st.lists(PARTS, min_size=1, max_size=4).map("/".join), min_size=1, max_size=8)
DEEP = st.integers(15, 25).map(lambda depth: {"/".join("a" * depth)})


@given(PATHS | DEEP)
def test_names_are_refused_by_name_or_listed_in_the_one_form(paths):
    """A list is sorted, ends each line with LF, and leads nowhere but into its folder."""
    assume(not any(path.startswith(("signatures/", MANIFEST)) for path in paths))
    refused: set[str] = set()
    try:
        check_names(paths, also=SHOUTED)
    except ContentFault as fault:
        refused = {each.where for each in fault.faults}
        assert refused
        assert refused <= paths
    kept = paths - refused
    check_names(kept, also=SHOUTED)
    files = {path: path.encode() for path in kept}

    for path in kept:
        assert unicodedata.is_normalized("NFC", path)
        assert path.isprintable()
        assert not path.startswith("/")
        assert not {"", ".", ".."} & set(path.split("/"))
        assert not any(other.startswith(f"{path}/") for other in kept)
    assert len({path.casefold() for path in kept}) == len(kept)
    listed = manifest(files).decode().split("\n")
    assert [line[66:] for line in listed] == [*sorted(kept), ""]

    release = Release()
    found = {**files, MANIFEST: manifest(files), "signatures/author.sig": b""}
    if kept:
        release.open((name, "", partial(BytesIO, data)) for name, data in found.items())
    assert release.faults == set()
