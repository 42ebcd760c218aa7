"""Archives a reader takes away: the practice workspace, and every artifact of a site.

The same files give the same bytes: stored, in order of name, dated 1980-01-01, mode 0644,
no owner. Nothing is compressed, so that the bytes do not depend on a compressor's version.
"""

import io
import re
import sys
import zipfile
from collections.abc import Collection, Iterable, Mapping
from hashlib import sha256
from pathlib import Path

from report.archive import manifest, verify
from report.cache import Store, once
from report.errors import ContentFault, Fault, raise_if_any
from report.evidence import Evidence

WORKSPACE = "downloads/practice-workspace.zip"
ARTIFACTS = "downloads/assay-artifacts.zip"
STAND_ALONE = "downloads/verify.py"
"""The verifier for readers who have no Assay; a copy in a release proves nothing."""

LAB_PACKAGES = ("jax", "jaxlib", "ml-dtypes", "numpy", "opt-einsum", "scipy")
"""What the lab imports, and what that needs in turn."""

_CODE = b"".join(Path(each).read_bytes() for each in (__file__, manifest.__file__))
"""What packs: an archive is kept for as long as this is the same."""

_SAFE_PART = re.compile(
    r"(?!(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$))[a-z0-9_-](?:[a-z0-9._-]*[a-z0-9_-])?"
)
"""One part of a path that unpacks alike everywhere; Windows keeps some names for itself."""

_LONGEST, _DEEPEST = 320, 20
"""Characters and parts of a path; a verifier reads no more."""

_PINNED = re.compile(r"^([a-z0-9-]+)==")

_README = """\
# Practice workspace

The lab of Assay, its independent check and the recorded runs. It needs Python 3.11 or later,
jax and numpy, and nothing else of Assay.

On a laptop:

    python3 -m venv .venv
    .venv/bin/python -m pip install --require-hashes -r requirements.txt
    .venv/bin/python -m lab.check_precision
    .venv/bin/python -m lab.precision_profile --platform cpu --run-dir runs/precision-cpu --trace
    .venv/bin/python -m lab.representations --platform cpu --run-dir runs/representations-cpu

The second measures the same product under every policy of `lab/policies/`; `--policies` takes
files of yours, and `lab/kit/policy_file.py` says what one holds.

On a TPU VM, add the TPU runtime at the version that jax asks for, and name the platform:

    .venv/bin/python -m pip install "jax[tpu]=={jax}"
    .venv/bin/python -m lab.precision_profile --platform tpu --run-dir runs/precision-tpu --trace

To see what a TPU's compiler makes of a program, with no TPU, on x86-64 Linux: add that compiler
(Google's libtpu, under the Google Cloud terms of service, about 140 MB to fetch), and name a
function of yours. `lab/kit/program.py` says how it gives its arguments.

    .venv/bin/python -m pip install --require-hashes -r tpu.lock
    .venv/bin/python -m lab.preflight --program my_module:step --targets v5e,v6e

The precision lab uses the first local device. When the platform is not there it stops with exit
code 3 and never falls back to the CPU. A CPU run is a reference for the arithmetic, not a result
of a TPU.

`lab/records/` holds the published runs, byte for byte. Each has a `manifest.sha256`; check one
with `sha256sum --check manifest.sha256` in its folder, and this workspace the same way.

To publish your run, bring its folder back beside Assay's build.py:

    python build.py record runs/precision-tpu --as precision-tpu
"""


def stand_alone() -> bytes:
    """The verifier as one file that needs nothing else of Assay."""
    return Path(verify.__file__).read_bytes()


def practice_workspace(
    lab: Path, evidence: Collection[Evidence], lock: Path, store: Store
) -> bytes:
    """The lab, its requirements out of `lock`, how to run it, and the records: a zip."""
    files = {
        f"lab/{source.relative_to(lab).as_posix()}": source.read_bytes()
        for source in sorted([*lab.rglob("*.py"), *lab.rglob("*.toml")])
        if "records" not in source.relative_to(lab).parts
    }
    requirements, versions = lab_requirements(lock.read_text(encoding="utf-8"))
    files["requirements.txt"] = requirements.encode()
    files["tpu.lock"] = lock.with_name("tpu.lock").read_bytes()
    files["readme.md"] = _README.format(jax=versions["jax"]).encode()
    return _packed_once("practice-workspace", files, "lab/records", evidence, store)


def artifacts(files: Mapping[str, bytes], evidence: Collection[Evidence], store: Store) -> bytes:
    """`files`, which are those of figures, by their paths, and the records: a zip."""
    return _packed_once("assay-artifacts", files, "records", evidence, store)


def _packed_once(
    name: str,
    files: Mapping[str, bytes],
    shelf: str,
    evidence: Collection[Evidence],
    store: Store,
) -> bytes:
    """A zip of `files`, the records below `shelf`, and a manifest of both.

    A record stands for its files, since its manifest holds; so they are read only to be packed.
    """

    def packed() -> bytes:
        whole = dict(files)
        for record in (proof.record for proof in evidence):
            for path in (*(file.path for file in record.files), manifest.NAME):
                whole[f"{shelf}/{record.name}/{path}"] = record.file(path).read_bytes()
        whole[manifest.NAME] = manifest.manifest(whole)
        return pack({f"{name}/{path}": data for path, data in whole.items()})

    digest = sha256(f"{name} {shelf} {sys.version}".encode())
    digest.update(_CODE)
    digest.update(manifest.manifest(files))
    for record in (proof.record for proof in evidence):
        digest.update(f"{record.name} {record.manifest_sha256}\n".encode())
    return once(store, f"archive {digest.hexdigest()}", packed)


def lab_requirements(lock: str) -> tuple[str, dict[str, str]]:
    """The lab's lines of a lock file, hashes included, and the version of each package.

    A package pinned twice, for older and newer Pythons, keeps both pins; the version told
    is the last.
    """
    kept: list[str] = []
    versions: dict[str, str] = {}
    wanted = False
    for line in lock.splitlines():
        if pinned := _PINNED.match(line):
            wanted = pinned[1] in LAB_PACKAGES
            if wanted:
                versions[pinned[1]] = line[pinned.end() :].split()[0]
        if wanted:
            kept.append(line)
    raise_if_any(
        ContentFault,
        "The lock file does not pin what the lab needs:",
        [
            Fault(where="all.lock", found=f"no pin of {name}", remedy="make lock")
            for name in LAB_PACKAGES
            if name not in versions
        ],
    )
    return "\n".join([*kept, ""]), versions


def pack(files: Mapping[str, bytes], also: Collection[str] = ()) -> bytes:
    """A zip of `files` by their paths; a name another system would change is refused.

    `also` are file names that may have capitals.
    """
    check_names(files, also)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, data in sorted(files.items()):
            member = zipfile.ZipInfo(path, date_time=(1980, 1, 1, 0, 0, 0))
            member.compress_type = zipfile.ZIP_STORED
            member.create_system = 3
            member.external_attr = 0o100644 << 16
            archive.writestr(member, data)
    return buffer.getvalue()


def check_names(paths: Iterable[str], also: Collection[str] = ()) -> None:
    """Refuse paths that some system cannot hold, or holds as one."""
    faults = []
    taken: dict[str, str] = {}
    for path in sorted(paths):
        parts = path.split("/")
        above = ["/".join(parts[:end]).casefold() for end in range(1, len(parts))]
        expected = ""
        if not all(part in also or _SAFE_PART.fullmatch(part) for part in parts):
            found, expected = "a name that is not portable", "only a-z 0-9 . _ / -"
        elif len(path) > _LONGEST or len(parts) > _DEEPEST:
            found = "a path that is too long"
            expected = f"at most {_LONGEST} characters and {_DEEPEST} parts"
        elif path.casefold() in taken:
            found = f"on some systems the same file as {taken[path.casefold()]}"
        elif folder := next((name for name in above if name in taken), ""):
            found = f"in a folder, where {taken[folder]} is a file"
        else:
            taken[path.casefold()] = path
            continue
        faults.append(Fault(where=path, found=found, expected=expected))
    raise_if_any(ContentFault, "These names cannot go into an archive:", faults)
