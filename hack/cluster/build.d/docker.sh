# Docker, which containerlab starts its devices with. Debian's package is
# unpacked into the cache and not installed: an installed one would start a
# daemon and change the machine's network.

DOCKER_ROOT=$NODROP_CACHE/docker

part_docker() {
  part "unpacking Debian's Docker" "$DOCKER_ROOT/usr/sbin/dockerd" make_docker
}

make_docker() {
  apt_lists
  rm -rf "$DOCKER_ROOT"
  mkdir -p "$DOCKER_ROOT/debs"
  # libdevmapper is the one library of dockerd's that a plain Debian may lack.
  (cd "$DOCKER_ROOT/debs" && apt-get download -qq -o APT::Sandbox::User=root docker.io libdevmapper1.02.1)
  local deb
  for deb in "$DOCKER_ROOT"/debs/*.deb; do dpkg-deb -x "$deb" "$DOCKER_ROOT"; done
  rm -rf "$DOCKER_ROOT/debs" "$DOCKER_ROOT/usr/share" "$DOCKER_ROOT/etc"
}
