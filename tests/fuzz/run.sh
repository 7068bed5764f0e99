#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Fuzzes the answer checker: tests/fuzz/run.sh [seconds]. Needs clang with libFuzzer (Debian: clang). It starts from
# the inputs in maths_corpus.jsonl; those that reach new code are added there. A crash, a hang (5 s) or a sanitizer
# report ends the run with the input in build/fuzz.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-600}
build=build/fuzz
rm -rf "$build/corpus" "$build/kept"
mkdir -p "$build/kept"
python3 tests/fuzz/corpus.py unpack tests/fuzz/maths_corpus.jsonl "$build/corpus"
clang++ -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
    -Iengine -I. tests/fuzz/maths_fuzz.cpp engine/maths/*.cpp engine/base/strings.cpp -lginac -lcln -o "$build/maths_fuzz"
export ASAN_OPTIONS=detect_leaks=0 # CLN leaves one small allocation of its start behind
"$build/maths_fuzz" -max_total_time="$seconds" -max_len=600 -timeout=5 -rss_limit_mb=4096 \
    -dict=tests/fuzz/latex.dict -artifact_prefix="$build/" "$build/corpus"
"$build/maths_fuzz" -set_cover_merge=1 "$build/kept" "$build/corpus" 2>/dev/null
python3 tests/fuzz/corpus.py pack tests/fuzz/maths_corpus.jsonl "$build/kept"
