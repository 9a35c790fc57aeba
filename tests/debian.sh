#!/usr/bin/env bash
# debian.sh [RELEASE [deb]]: runs README's two commands in a bare Debian RELEASE (12, 13 or sid; default: 13) made by
# debootstrap, in the way of a container: without a terminal, with standard input closed. Each installed header must compile
# alone there. Compiler warnings are failures.
# With "deb" it also makes the Debian package, installs it and trains with it.
# Needs root and debootstrap (./setup.sh ci); exits with 77 if they are missing. Ends after $DEBIAN_SECONDS (1500). Its
# mounts and processes are in separate namespaces, which end with it.
set -euo pipefail
top=$(realpath "$(dirname "$0")/..")
release=${1:-13} seconds=${DEBIAN_SECONDS:-1500}
declare -A names=([12]=bookworm [13]=trixie)

left_out() {
  echo "debian.sh: skipped: $1"
  exit 77
}

isolated() {  # isolated SECONDS COMMAND...
  timeout -k 10 "$1" unshare --mount --mount-proc --pid --fork --kill-child "${@:2}"
}

[ "$(id -u)" -eq 0 ] || left_out "it needs root"
command -v debootstrap >/dev/null || left_out "debootstrap is not installed (./setup.sh ci)"
isolated 10 true 2>/dev/null || left_out "no namespace of mounts and processes can be made here"

scratch=$(mktemp -d)
trap 'rm -rf --one-file-system "$scratch"' EXIT
export root=$scratch/root
isolated 400 debootstrap --variant=minbase "${names[$release]:-$release}" "$root" >"$scratch/log" 2>&1 ||
  left_out "debootstrap made no Debian $release: $(tail -1 "$scratch/log")"
mkdir "$root/heed"
(cd "$top" && git -c safe.directory='*' ls-files -z | tar -c --null -T - | tar -x -C "$root/heed")

mapfile -t commands < <(grep -E '^\./setup\.sh && cmake --workflow --preset (toy|test)( |$)' "$top/README.md")
[ ${#commands[@]} -eq 2 ] || { echo "debian.sh: expected README's two commands, got ${#commands[@]}" >&2; exit 1; }
commands+=("cmake --install build --prefix /tmp/installed >/dev/null && tests/headers.sh g++ /tmp/installed")
[ "${2:-}" != deb ] || commands+=("./setup.sh deb && cmake --workflow --preset deb"
                                  "apt-get install -y -qq ./build-portable/heed_*_*.deb"
                                  "cp toy.yaml /tmp && cd /tmp && heed-train --config toy.yaml && heed-inspect runs/toy")

in_root() {  # in_root COMMAND
  mount -t proc proc "$root/proc"
  exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root bash -c "cd /heed && $1" <&-
}
export -f in_root
for command in "${commands[@]}"; do
  echo "Debian $release: $command"
  isolated "$((seconds - SECONDS))" bash -c 'in_root "$1"' bash "$command" 2>&1 | tee -a "$scratch/log"
done
grep -h "left out" "$root/heed/build/Testing/Temporary/LastTest.log" || true
! grep -E '[0-9]: warning: |^CMake Warning' "$scratch/log" || { echo "debian.sh: warnings on Debian $release" >&2; exit 1; }
echo "Debian $release: all commands pass without a warning"
