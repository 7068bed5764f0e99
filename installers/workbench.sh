#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs what is missing, builds, and runs Stillroom. A second run does only what changed.
#   installers/workbench.sh [--headless] [--no-gpu] [-- ARGUMENTS OF stillroom-cli]
# Until the window exists it always runs without one: it trains the sample and prints the score before and after.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

arguments=(train sample-opd)
while [ $# -gt 0 ]; do
    case "$1" in
        --headless) ;;
        --no-gpu) use_cuda=OFF; export CUDA_VISIBLE_DEVICES= ;;
        --) shift; arguments=("$@"); break ;;
        -h|--help) sed -n '3,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
        *) die "unknown option $1, expected --headless, --no-gpu or --" ;;
    esac
    shift
done

install_packages
install_torch
find_nvcc
say "Building"
configure_and_build -DSTILLROOM_TESTS=OFF
say "stillroom-cli ${arguments[*]}"
exec "$repository/build/bin/stillroom-cli" "${arguments[@]}"
