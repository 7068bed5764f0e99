# SPDX-License-Identifier: GPL-3.0-or-later
# What workbench.sh and test.sh share: installing what is missing, the private Python environment with torch, the build.
# Sourced, not run.

repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache="${XDG_CACHE_HOME:-$HOME/.cache}/stillroom"
torch_env="$cache/torch-2.11.0"
use_cuda=ON

say() { printf '\033[1m==>\033[0m %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null; then sudo "$@"
    else die "installing packages needs root: run as root, or install sudo"
    fi
}

packages=(
    build-essential cmake ninja-build pkg-config ccache mold clang-format git ca-certificates python3 python3-venv
    libssl-dev nlohmann-json3-dev libcli11-dev libtomlplusplus-dev libspdlog-dev libpcre2-dev libutf8proc-dev
    libsqlitecpp-dev libsqlite3-dev libboost-dev libginac-dev libgtest-dev
)

gui_packages=(qt6-base-dev qt6-charts-dev libqt6opengl6-dev libgl-dev fonts-dejavu-core)
use_gui=ON

install_packages() {
    [ "$use_gui" = ON ] && packages+=("${gui_packages[@]}")
    local missing=() package
    for package in "${packages[@]}"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
    done
    [ ${#missing[@]} = 0 ] && return
    say "Installing Debian packages: ${missing[*]}"
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
}

# A finished environment has the file `complete`; one that broke off is made anew.
install_torch() {
    [ -f "$torch_env/complete" ] && return
    say "Installing torch 2.11.0 (about 5 GB with its CUDA libraries) into $torch_env"
    mkdir -p "$cache"
    (
        flock 9
        [ -f "$torch_env/complete" ] && exit 0
        rm -rf "$torch_env"
        python3 -m venv "$torch_env"
        "$torch_env/bin/pip" install --quiet --disable-pip-version-check torch==2.11.0 numpy
        touch "$torch_env/complete"
    ) 9>"$cache/lock"
}

# CUDA kernels need nvcc 13: the system's, else the toolkit's wheels in the same environment, else none.
find_nvcc() {
    [ "$use_cuda" = ON ] || return 0
    local nvcc candidate
    for candidate in "$(command -v nvcc || true)" /usr/local/cuda/bin/nvcc "$torch_env"/lib/python3*/site-packages/nvidia/cu13/bin/nvcc; do
        if [ -x "$candidate" ] && "$candidate" --version | grep -q 'release 13'; then nvcc=$candidate; break; fi
    done
    if [ -z "${nvcc:-}" ]; then
        say "No nvcc 13 found: installing the CUDA toolkit's wheels into $torch_env"
        "$torch_env/bin/pip" install --quiet --disable-pip-version-check 'nvidia-cuda-nvcc==13.0.*' 'nvidia-nvvm==13.0.*' 'nvidia-cuda-crt==13.0.*' 'nvidia-cuda-cccl==13.0.*' || true
        for candidate in "$torch_env"/lib/python3*/site-packages/nvidia/cu13/bin/nvcc; do
            [ -x "$candidate" ] && nvcc=$candidate
        done
    fi
    if [ -n "${nvcc:-}" ]; then
        export CUDACXX=$nvcc
    else
        say "No nvcc 13: building without CUDA kernels (a GPU is still used, by LibTorch's own operations)"
        use_cuda=OFF
    fi
}

configure_and_build() { # target...
    cd "$repository"
    cmake --preset release -DSTILLROOM_TORCH_ENV="$torch_env" -DSTILLROOM_CUDA="$use_cuda" -DSTILLROOM_GUI="$use_gui" "$@" >"$repository/build-configure.log" 2>&1 ||
        { cat "$repository/build-configure.log" >&2; die "configuring failed"; }
    rm -f "$repository/build-configure.log"
    cmake --build build --parallel "$(nproc)"
}

# The start menu's entry for the program as it was built here.
install_desktop_entry() {
    local share="${XDG_DATA_HOME:-$HOME/.local/share}"
    mkdir -p "$share/applications" "$share/icons/hicolor/scalable/apps"
    cp "$repository/resources/icons/stillroom.svg" "$share/icons/hicolor/scalable/apps/stillroom.svg"
    sed "s|^Exec=.*|Exec=$repository/build/bin/stillroom %f|" "$repository/resources/stillroom.desktop" >"$share/applications/stillroom.desktop"
}
