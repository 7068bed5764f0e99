#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs what is missing, builds everything, and runs every check and test.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

install_packages
install_torch
find_nvcc
say "Checking the formatting"
cd "$repository"
git ls-files '*.h' '*.cpp' | xargs clang-format --dry-run --Werror
say "Building"
configure_and_build -DSTILLROOM_TESTS=ON
say "Testing"
ctest --test-dir build --output-on-failure --parallel "$(nproc)" --timeout 900
