"""No host, no user and no path leaves the machine with a run."""

import getpass
import gzip
import re
import socket
import struct
import sys
from pathlib import Path

import pytest

from lab.kit import xspace
from lab.kit.redaction import NOBODY, Redactor

pytestmark = pytest.mark.lab

PLACES = re.compile(rb"/(?:home|root|Users|tmp|var|private|opt|usr|work|mnt|srv)/[^\s\"]+")

REDACTOR = {
    "hosts": ["vm", "workstation-7.example.org", "workstation-7"],
    "users": ["ada"],
    "folders": ["/home/ada", "/data/a folder/é"],
}

NUMBER = b"\0\0( vm )"
"""A number whose bytes happen to spell the short host name."""

SPACE = """
planes {
  id: 1
  name: "/host:CPU"
  lines {
    id: 1 name: "python"
    events { metadata_id: 1 stats { metadata_id: 1 str_value: "/home/ada/run.py" } }
  }
  lines { id: 2 name: "vm/12" }
  event_metadata {
    key: 1 value { id: 1 name: "open /data/a folder/\\303\\251/x by ada" display_name: "vm" }
  }
  stat_metadata { key: 1 value { id: 1 name: "path" description: "on workstation-7" } }
  stats { metadata_id: 1 bytes_value: "vm /srv/code/model.py vm" }
  stats { metadata_id: 1 double_value: NUMBER }
}
hostnames: "workstation-7.example.org"
hostnames: "vm"
warnings: "vm is slow"
""".replace("NUMBER", repr(struct.unpack("<d", NUMBER)[0]))


@pytest.fixture
def redactor() -> Redactor:
    return Redactor(**REDACTOR)


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("on workstation-7, by ada", "on host0, by user0"),
        ("workstation-7.example.org", "host0"),
        ("kvm vms vm_x vm-1 Canada adaptive", "kvm vms vm_x vm-1 Canada adaptive"),
        ('File "/home/ada/lab/x.py", line 3', 'File "<path>", line 3'),
        ("--xla_dump_to=/somewhere/else/x", "--xla_dump_to=<path>"),
        ("/data/a folder/é/x.py:3", "<path>:3"),
        ('op_name="jit(f)/dot_general/x"', 'op_name="jit(f)/dot_general/x"'),
        ("/host:CPU /device:TPU:0 https://example.org/a/b a/b/c", None),
        ("[1] x [0], 3 / 4 // 5", None),
    ],
)
def test_text_keeps_everything_but_names_and_paths(
    text: str, redacted: str | None, redactor: Redactor
) -> None:
    assert redactor.text(text, "file") == (text if redacted is None else redacted)


def test_what_was_replaced_is_told_by_file(redactor: Redactor) -> None:
    redactor.value({"a": ["vm", 3, None], "b": {"c": "/home/ada"}}, "report.json")
    redactor.text("nothing", "config.json")

    assert redactor.done == ["report.json: absolute path", "report.json: host name"]


def test_a_name_that_is_an_ordinary_word_is_left_alone() -> None:
    redactor = Redactor(hosts=["localhost"], users=["root", "cpu"], folders=[])

    assert redactor.text("on cpu: ROOT root localhost", "file") == "on cpu: ROOT root localhost"


def test_program_text_keeps_its_words(redactor: Redactor) -> None:
    program = 'ada = f32[] parameter(0), metadata={source_file="/home/ada/x.py"}'

    assert redactor.text(program, "file", names=False) == (
        'ada = f32[] parameter(0), metadata={source_file="<path>"}'
    )


def test_an_xspace_is_redacted_in_place(redactor: Redactor) -> None:
    from jax.profiler import ProfileData

    before = ProfileData.text_proto_to_serialized_xspace(SPACE)
    after = xspace.rewrite(
        before, lambda data, is_text: redactor.same_length(data, "x.pb", names=is_text)
    )

    assert len(after) == len(before)
    for secret in (b"workstation", b"ada", b"/home", b"/data", b"/srv", "é".encode()):
        assert secret in before
        assert secret not in after
    assert NUMBER in after
    assert b"vm <path>" in after, "a short name inside binary content may be no name at all"
    (plane,) = ProfileData.from_serialized_xspace(after).planes
    assert [line.name for line in plane.lines] == ["python", "ho/12"]
    assert redactor.done == ["x.pb: absolute path", "x.pb: host name", "x.pb: user name"]


@pytest.mark.parametrize("data", [b"\x0b", b"\x0a\x7f", b"\xff" * 12, b"<html>not found</html>"])
def test_what_is_not_an_xspace_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="not an XSpace"):
        xspace.rewrite(data, lambda content, _: content)


def test_a_fresh_run_names_nobody(run: Path) -> None:
    assert identities(run) == []


@pytest.mark.parametrize("name", ["precision-cpu", "precision-batch-one"])
def test_a_record_names_nobody(name: str, project: Path) -> None:
    assert identities(project / "lab/records" / name) == []


def test_the_search_itself_finds_what_it_should(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(f'"{Path.home()}/x"')
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(b'"/home/ada/x"'))
    (tmp_path / f"{socket.gethostname()}.xplane.pb").write_bytes(b"")

    found = " ".join(identities(tmp_path))
    assert all(name in found for name in ("a.json", "b.json.gz", "file name"))


def identities(folder: Path) -> list[str]:
    """Every place in `folder` that holds this machine's names or anyone's absolute path."""
    host = socket.gethostname()
    names = {host, host.split(".")[0], getpass.getuser(), Path.home().name}
    words = [
        re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])".encode()) for name in names - NOBODY
    ]
    places = {str(Path.home()), sys.prefix, str(Path(__file__).resolve().parents[2])}
    found = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        found += [f"{name}: file name" for word in words if word.search(path.name.encode())]
        if not path.is_file():
            continue
        data = path.read_bytes()
        if name.endswith(".gz"):
            data = gzip.decompress(data)
        found += [f"{name}: {place}" for place in places if place.encode() in data]
        found += [f"{name}: {match[0]!r}" for match in PLACES.finditer(data)]
        if name.endswith(".xplane.pb"):
            data = text_of(data)
        elif name.endswith(".npy"):
            data = data.partition(b"\n")[0]
        # The sources are the published lab itself, byte for byte.
        if not name.startswith("sources/"):
            found += [f"{name}: {word.pattern!r}" for word in words if word.search(data)]
    return found


def text_of(space: bytes) -> bytes:
    """The text fields of an XSpace: two letters side by side in a number are no name."""
    texts = []

    def keep(content: bytes, is_text: bool) -> bytes:
        if is_text:
            texts.append(content)
        return content

    xspace.rewrite(space, keep)
    return b"\n".join(texts)
