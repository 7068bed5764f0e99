#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kept inputs as one file, a JSON string a line (a byte is the character of its number): unpack, pack."""
import hashlib
import json
import pathlib
import sys

action, packed, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
if action == "unpack":
    folder.mkdir(parents=True, exist_ok=True)
    for line in packed.read_text().splitlines():
        content = json.loads(line).encode("latin-1")
        (folder / hashlib.sha1(content).hexdigest()).write_bytes(content)
else:
    inputs = sorted({file.read_bytes() for file in folder.iterdir()})
    packed.write_text("".join(json.dumps(content.decode("latin-1")) + "\n" for content in inputs))
