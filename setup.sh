#!/usr/bin/env bash
# Installs the Debian or Ubuntu packages for building heed; does nothing if all are installed.
#   ./setup.sh         for the programs and their tests
#   ./setup.sh core    for the preset "core" alone: tensors, layers, optimisers and data as a library
#   ./setup.sh clang   for the preset "clang" as well
#   ./setup.sh fuzz    for the preset "fuzz" as well
#   ./setup.sh coverage  for the preset "coverage" as well
#   ./setup.sh mpi     for the preset "mpi" as well
#   ./setup.sh python  for the Python package as well: pip install .
#   ./setup.sh page    for the tests that open inspect's page in a browser as well
#   ./setup.sh lint    for the preset "lint" as well
#   ./setup.sh docs    for the preset "docs" as well
#   ./setup.sh ci      for tests/debian.sh as well
#   ./setup.sh deb     to make a package of the preset "portable" as well
set -euo pipefail

core=(g++ cmake ninja-build libopenblas-dev libfmt-dev pkg-config)
packages=("${core[@]}" libyaml-cpp-dev nlohmann-json3-dev libcxxopts-dev libutf8proc-dev libpcre2-dev libsentencepiece-dev zlib1g-dev catch2
          python3)

die() {
  printf 'setup.sh: %s\n' "$@" >&2
  exit 1
}

case "$*" in
  "") ;;
  core) packages=("${core[@]}") ;;
  clang) packages+=(clang libomp-dev) ;;
  fuzz | coverage) # the runtime for sanitizers, libFuzzer and counters, in the version of "clang"
    version=$(apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p' | head -1)
    packages+=(clang libomp-dev "libclang-rt-${version:-14}-dev")
    [ "$1" = fuzz ] || packages+=("llvm-${version:-14}") ;;
  mpi) packages+=(libopenmpi-dev openmpi-bin) ;;
  python) packages+=(python3-dev python3-pip python3-venv) ;;
  page) packages+=(chromium) ;;
  lint) packages+=(clang-format clang-tidy libomp-dev) ;;
  docs) packages+=(doxygen python3-sphinx python3-myst-parser python3-breathe furo) ;;
  ci) packages+=(debootstrap debian-archive-keyring) ;;
  deb) packages+=(dpkg-dev file) ;;
  *) die "expected no argument, 'core', 'clang', 'fuzz', 'coverage', 'mpi', 'python', 'page', 'lint', 'docs', 'ci' or 'deb', got '$*'" ;;
esac

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  die "expected Debian or Ubuntu. On other systems, install the equivalents of these Debian 12 packages:" "  ${packages[*]}"
fi

is_installed() {
  dpkg-query --show --showformat='${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed
}

check_cmake() {
  local version
  version=$(cmake --version | sed -n 's/^cmake version //p')
  [ "$(printf '%s\n' 3.25 "$version" | sort -V | head -1)" = 3.25 ] ||
    die "expected CMake 3.25 or later, got $version. To install a later one in your home directory:" \
        "  apt-get install python3-venv    (as root)" \
        "  python3 -m venv ~/cmake && ~/cmake/bin/pip install cmake && export PATH=~/cmake/bin:\$PATH"
}

install() {  # install PACKAGE...: installs the missing ones
  local package missing=() as_root=(env DEBIAN_FRONTEND=noninteractive)
  for package in "$@"; do
    is_installed "$package" || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    echo "setup.sh: all $# packages are installed"
    return
  fi
  local by_hand="apt-get update && apt-get install ${missing[*]}"
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null ||
      die "installing packages needs root or sudo. As root, run:" "  $by_hand"
    as_root=(sudo "${as_root[@]}")
  fi
  echo "setup.sh: installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq || echo "setup.sh: apt-get update failed; trying the existing package lists" >&2
  "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" ||
    die "the packages were not installed. As root, run:" "  $by_hand"
}

install "${packages[@]}"
# The headers of SentencePiece 0.2.2 include abseil's, but its package in sid does not depend on abseil.
! grep -qs 'include <absl/' /usr/include/sentencepiece_processor.h || install libabsl-dev
check_cmake
