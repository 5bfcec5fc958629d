# Sourced by the scripts of this folder: kernels, paths and apt lists of their own.

set -euo pipefail

VM_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
NODROP_CACHE=${NODROP_CACHE:-$(cd "$VM_DIR/../.." && pwd)/.cache}
VM_CACHE=$NODROP_CACHE/vm
export PATH=$PATH:/usr/sbin:/sbin

# Kernels of the matrix, and the Debian suites that they come from.
declare -A VM_SUITES=(
  [debian12]=bookworm
  [debian13]=trixie
  [backports]=trixie-backports
)
VM_KERNELS="debian12 debian13 backports"

say() { printf '%s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }

# vm_suite prints the suite of a kernel.
vm_suite() {
  [ -n "${VM_SUITES[$1]-}" ] || die "kernel \"$1\" is not known: use one of $VM_KERNELS"
  echo "${VM_SUITES[$1]}"
}

# private_apt DIR SUITE... sets the array apt_options: package lists of these suites below
# DIR, so that the machine's own lists and packages stay as they are.
private_apt() {
  local dir=$1 mirror; shift
  mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -oE '^(URIs: *|deb +(\[[^]]*\] *)?)https?://[^ ]*/debian/?( |$)' |
    grep -oE 'https?://[^ ]+' | head -1 || true)
  [ -n "$mirror" ] || die "no Debian mirror (a URL that ends in /debian) in /etc/apt/sources.list or /etc/apt/sources.list.d"
  mkdir -p "$dir/lists/partial" "$dir/parts" "$dir/cache"
  printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n' \
    "$mirror" "$*" > "$dir/parts/vm.sources"
  apt_options=(-o "Dir::State::Lists=$dir/lists" -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$dir/parts"
    -o "Dir::Cache::pkgcache=$dir/cache/pkgcache.bin" -o "Dir::Cache::srcpkgcache=$dir/cache/srcpkgcache.bin")
}
