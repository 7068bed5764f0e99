# SPDX-License-Identifier: GPL-3.0-or-later
"""Fails on an include that points upwards in the folder order of docs/code.md, on a torch or Qt header where none may
be, and on what the window must not do: Qt Charts outside its one class, nested event loops, opening a store on its own
thread. Run by CTest: python3 tests/check_includes.py SOURCE_FOLDER"""
import pathlib, re, sys

ORDER = ["base", "formats", "text", "data", "maths", "stats", "record", "kernels", "model", "rollout", "teacher",
         "objective", "train", "eval", "session"]
TORCH_FREE = set(ORDER[:ORDER.index("kernels")])
# Of session/, what a program may include without LibTorch.
PUBLIC_HEADERS = {"session/session.h", "session/state.h", "session/preflight.h", "session/export.h", "session/backend.h",
                  "session/checkpoints.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)
TORCH = re.compile(r"^(torch|ATen|c10)/")
CHARTS_ONLY_IN = "ui/plot/plot_widget.cpp"
READERS_ONLY_IN = {"ui/source/store_reader.h", "ui/models/runs_model.cpp"}  # each on a thread of its own


def engine_faults(root):
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


def window_faults(root):
    for path in sorted([*root.glob("ui/*/*.[hc]*"), root / "app/main.cpp"]):
        name, text = str(path.relative_to(root)), path.read_text()
        for included in INCLUDE.findall(text):
            first = included.split("/")[0]
            if TORCH.match(included) or first in ORDER and first not in TORCH_FREE and included not in PUBLIC_HEADERS:
                yield f"{name} includes {included}: the window must not know LibTorch"
            if re.match(r"QtCharts|Q\w*(Chart|Axis|(Line|Scatter|Area|Bar|XY)Series)\b", included) and name != CHARTS_ONLY_IN:
                yield f"{name} includes {included}: only {CHARTS_ONLY_IN} knows Qt Charts"
            if first == "app":
                yield f"{name} includes {included}"
        if re.search(r"(\.|->)exec\(\)|QEventLoop|processEvents", text) and name != "app/main.cpp":
            yield f"{name} runs a nested event loop"
        if re.search(r"RunReader::open|SQLite::", text) and name not in READERS_ONLY_IN:
            yield f"{name} opens a store: ask StoreReader"


root = pathlib.Path(sys.argv[1])
files = [*root.glob("engine/*/*.[hc]*"), *root.glob("ui/*/*.[hc]*")]
faults = [*engine_faults(root), *window_faults(root)]
if len(files) < 100:
    faults.append(f"only {len(files)} files found below {root}: is that the source folder?")
print("\n".join(faults) or f"{len(files)} files include downwards only")
sys.exit(bool(faults))
