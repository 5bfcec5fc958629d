# Sourced by the scripts of this folder: where things are, and how a part is
# built only when what it is made from has changed.

set -euo pipefail

CLUSTER_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
REPO_ROOT=$(cd "$CLUSTER_DIR/../.." && pwd)

# What is built is kept here; "make cluster-down" leaves it alone.
export NODROP_CACHE=${NODROP_CACHE:-$REPO_ROOT/.cache}
# The running cluster's files; "make cluster-down" deletes them.
export NODROP_STATE=${NODROP_STATE:-$REPO_ROOT/.state/cluster}

. "$CLUSTER_DIR/versions.sh"

export GOFLAGS="-buildvcs=false -mod=readonly" GOTOOLCHAIN=local GOWORK=off CGO_ENABLED=0

say() { printf '%s\n' "$*" >&2; }
die() { say "error: $*"; exit 1; }

# need_root fails early: namespaces, mounts and cgroups are root's.
need_root() { [ "$(id -u)" = 0 ] || die "the local cluster needs root; run with sudo"; }

# at_exit has commands run when the script ends, and the script fail if one of them fails.
at_exit() {
  AT_EXIT=("$@")
  trap finish EXIT
}

finish() {
  local status=$? command
  trap - EXIT
  for command in "${AT_EXIT[@]}"; do
    $command || status=1
  done
  exit $status
}

# need_packages installs the Debian packages that are missing. None of them
# starts a service.
need_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  need_root
  say "      installing Debian packages: ${missing[*]}"
  apt_lists
  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
}

# apt_lists refreshes apt's package lists, once per build.
apt_lists() {
  [ -z "${APT_LISTS_FRESH-}" ] || return 0
  need_root
  apt-get update -qq
  APT_LISTS_FRESH=1
}

# unpack_packages unpacks Debian packages into a folder of the tools that tests use, unless PROGRAM is there. Nothing is
# installed, since Debian would start some of them for the whole machine.
unpack_packages() { # FOLDER PROGRAM DESCRIPTION PACKAGE...
  local out=$NODROP_CACHE/tools/$1 program=$2 description=$3 deb
  shift 3
  [ ! -x "$out/$program" ] || return 0
  mkdir -p "$out/debs"
  say "unpacking $description ..."
  (cd "$out/debs" && apt-get download -qq -o APT::Sandbox::User=root "$@") ||
    { apt_lists; (cd "$out/debs" && apt-get download -qq -o APT::Sandbox::User=root "$@"); }
  for deb in "$out"/debs/*.deb; do dpkg-deb -x "$deb" "$out"; done
  rm -rf "$out/debs" "$out/etc" "$out/usr/share/doc" "$out/usr/share/man" "$out/usr/share/lintian"
}

# inputs_digest hashes its arguments: a file or folder by content, any other
# word by itself.
inputs_digest() {
  local input
  for input in "$@"; do
    if [ -e "$input" ]; then
      find "$input" -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sed "s#  $REPO_ROOT/#  #"
    else
      printf '%s\n' "$input"
    fi
  done | sha256sum | cut -d' ' -f1
}

# compile runs "go build" or "go install" and says every 15 s how far it is: a
# first build takes minutes.
compile() {
  local command=$1
  shift
  go "$command" -v "$@" 2>&1 | {
    local line packages=0 next=$((SECONDS + 15))
    while IFS= read -r line; do
      case $line in
        "go: downloading "*) ;;
        *[!A-Za-z0-9._~/-]*) say "$line" ;; # a message, not a package that was compiled
        *) packages=$((packages + 1)) ;;
      esac
      if [ "$SECONDS" -ge "$next" ]; then
        say "      $packages packages compiled"
        next=$((SECONDS + 15))
      fi
    done
  }
}

STEP=0
STEPS=${STEPS:-0}

# part TITLE OUTPUT FUNCTION INPUT... runs FUNCTION unless OUTPUT exists and was
# made from the same inputs (versions, files, folders).
part() {
  local title=$1 output=$2 make=$3 digest stamp start
  shift 3
  STEP=$((STEP + 1))
  mkdir -p "$NODROP_CACHE/stamps"
  stamp=$NODROP_CACHE/stamps/$make
  digest=$(inputs_digest "$(declare -f "$make")" "$@")
  if [ -e "$output" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$digest" ]; then
    say "[$STEP/$STEPS] $title: up to date"
    return 0
  fi
  say "[$STEP/$STEPS] $title"
  start=$SECONDS
  "$make"
  echo "$digest" > "$stamp"
  say "      done in $((SECONDS - start)) s"
}
