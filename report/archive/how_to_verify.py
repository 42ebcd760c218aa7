"""VERIFY.txt: how to check a release with this project's tools, and with none of them."""

import re
from collections.abc import Mapping


def text(about: Mapping[str, object]) -> str:
    """The text for one release; `about` is its release.json."""
    return re.sub(r"\{(release|title|date)\}", lambda name: str(about[name[1]]), _TEXT)


_TEXT = r"""
Release {release}: {title}

Declared date {date}. This folder holds a report and all it stands on. Beside it may lie the same
as {release}.zip, and {release}.html, the report as one page for reading and sending. That page is
a copy for convenience: the list does not name it and no signature covers it, so check the folder.

1. Get the signer's key fingerprint from a second source: a project page, a printed page, a call.
   A key, a verifier or a page found in this folder proves nothing about who made it.

2. With Python 3.8 or later, and a verify.py from elsewhere (the copy here is a convenience):

     python3 -I -S verify.py . --key SHA256:...

   0 trusted, 10 mismatch, 11 consistent but not trusted, 12 could not check.

3. With OpenSSH and coreutils alone, and a signers file of your own with one line,
   NAME namespaces="assay/report/author/v1" ssh-ed25519 AAAA...

     to=$(mktemp -d)
     ssh-keygen -Y verify -f signers -I NAME -n assay/report/author/v1 \
       -s signatures/author.sig < MANIFEST.sha256
     sha256sum --check --strict --quiet MANIFEST.sha256
     find . ! -type d ! -path './signatures/*' | cut -c3- | grep -vx MANIFEST.sha256 |
       LC_ALL=C sort > "$to/found"
     cut -c67- MANIFEST.sha256 | diff - "$to/found"

4. To build the same bytes again from source/ and records/, with the libraries that
   release.json names: python build.py rebuild RELEASE. It makes the one page again too, and
   says whether the one beside the folder is the same. This runs the code in source/, so do it only
   for a signer whom you trust.

5. For tools that read OpenSSF Model Signing, a release may have signatures/oms.sigstore.json. Get
   the signer's P-256 key, here KEY.pub, from a second source too. With their own program:

     model_signing verify key . --signature signatures/oms.sigstore.json \
       --public_key KEY.pub --no-ignore-git-paths

   or, to show that it signs the same list, with OpenSSL:

     of() { sed -n 's/^ *"'$1'": "\(.*\)".*/\1/p' signatures/oms.sigstore.json | base64 -d; }
     to=$(mktemp -d)
     of payload > "$to/payload"
     of sig > "$to/sig"
     { printf 'DSSEv1 28 application/vnd.in-toto+json %d ' "$(wc -c < "$to/payload")"
       cat "$to/payload"; } | openssl dgst -sha256 -verify KEY.pub -signature "$to/sig"
     echo | cat "$to/payload" - | tr '{' '\n' |
       sed -n 's/^"digest":"\(.*\)","algorithm":"sha256","name":"\(.*\)"}.*/\1  \2/p' |
       diff - MANIFEST.sha256

6. A release may have signatures/author.sig.tsr, a time stamp (RFC 3161): an authority's word that
   signatures/author.sig was there by then. Get that authority's chain of keys, here TSA.pem, from a
   second source too. With OpenSSL, judged at the stamp's own time, since such keys end:

     stamp=signatures/author.sig.tsr
     at=$(openssl ts -reply -in "$stamp" -text | sed -n 's/^Time stamp: //p')
     echo "$at"
     openssl ts -verify -data signatures/author.sig -in "$stamp" \
       -CAfile TSA.pem -attime "$(date -d "$at" +%s)"

   It is worth what the authority's word is worth, and no more once its key is known to be lost.

Kept in git, the folder needs a line in .gitattributes: * -text

What a signature shows: who vouches for these bytes. What it does not show: that the measurements
are right, that this is the latest report, or when it was signed.
"""[1:]
