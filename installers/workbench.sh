#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs what is missing, builds, and opens the workbench on the sample run. A second run does only what changed.
#   installers/workbench.sh [--headless] [--no-gpu] [-- ARGUMENTS]
# --headless builds without Qt and trains the sample in the terminal (arguments are stillroom-cli's then);
# --no-gpu builds without CUDA kernels and runs on the CPU.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

arguments=()
while [ $# -gt 0 ]; do
    case "$1" in
        --headless) use_gui=OFF ;;
        --no-gpu) use_cuda=OFF; export CUDA_VISIBLE_DEVICES= ;;
        --) shift; arguments=("$@"); break ;;
        -h|--help) sed -n '3,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
        *) die "unknown option $1, expected --headless, --no-gpu or --" ;;
    esac
    shift
done

install_packages
install_torch
find_nvcc
say "Building"
configure_and_build -DSTILLROOM_TESTS=OFF
if [ "$use_gui" = OFF ]; then
    [ ${#arguments[@]} -gt 0 ] || arguments=(train sample-opd)
    say "stillroom-cli ${arguments[*]}"
    exec "$repository/build/bin/stillroom-cli" "${arguments[@]}"
fi
install_desktop_entry
[ ${#arguments[@]} -gt 0 ] || arguments=(--sample)
if [ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}${QT_QPA_PLATFORM:-}" ]; then
    die "built, but there is no display to open the window on; use --headless, or start build/bin/stillroom in a desktop session"
fi
say "stillroom ${arguments[*]}"
exec "$repository/build/bin/stillroom" "${arguments[@]}"
