# SPDX-License-Identifier: GPL-3.0-or-later
"""Fails on an include that points upwards in the folder order of docs/code.md, and on a torch or Qt header where none
may be. Run by CTest: python3 tests/check_includes.py SOURCE_FOLDER"""
import pathlib, re, sys

ORDER = ["base", "formats", "text", "data", "maths", "stats", "record", "kernels", "model", "rollout", "teacher",
         "objective", "train", "eval", "session"]
TORCH_FREE = set(ORDER[:ORDER.index("kernels")])
PUBLIC_HEADERS = {"session/session.h", "session/state.h", "session/preflight.h"}  # what the window may include
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)
TORCH = re.compile(r"^(torch|ATen|c10)/")


def faults_of(root):
    for path in sorted(root.glob("engine/*/*.[hc]*")):
        folder, name = path.parent.name, f"{path.parent.name}/{path.name}"
        for included in INCLUDE.findall(path.read_text()):
            first = included.split("/")[0]
            if "/" in included and first in ORDER and ORDER.index(first) > ORDER.index(folder):
                yield f"{name} includes {included}, which is above it"
            if first in ("app", "ui") or re.match(r"Q[A-Z]", included):
                yield f"{name} includes {included}"
            if TORCH.match(included) and (folder in TORCH_FREE or name in PUBLIC_HEADERS):
                yield f"{name} includes {included}, but must not know LibTorch"


root = pathlib.Path(sys.argv[1])
files = list(root.glob("engine/*/*.[hc]*"))
faults = list(faults_of(root))
if len(files) < 50:
    faults.append(f"only {len(files)} files found below {root}/engine: is that the source folder?")
print("\n".join(faults) or f"{len(files)} files include downwards only")
sys.exit(bool(faults))
