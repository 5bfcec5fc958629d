# Container images, all made from files without a base image, so that none has
# to be pulled. images/node goes to containerd and images/docker to dockerd,
# both when the cluster comes up.

IMAGES=$NODROP_CACHE/images
IMAGE_TOOL=$NODROP_CACHE/bin/image
NODE_TOOL=$NODROP_CACHE/bin/node

part_node() {
  part "building the node program and the image tool" "$NODE_TOOL" make_node \
    "$REPO_ROOT/hack/go.mod" "$CLUSTER_DIR/node" "$CLUSTER_DIR/runc-caps" "$REPO_ROOT/hack/image"
}

make_node() {
  (cd "$REPO_ROOT/hack" && compile build -trimpath -ldflags "-s -w" -o "$NODROP_CACHE/bin/" \
    ./cluster/node ./cluster/runc-caps ./image)
}

part_pause() {
  part "making the pause image" "$IMAGES/node/pause.tar" make_pause "$CLUSTER_DIR/pause.c" "$REPO_ROOT/hack/image"
}

make_pause() {
  local work=$NODROP_CACHE/work/pause
  mkdir -p "$work" "$IMAGES/node"
  gcc -static -Os -s -o "$work/pause" "$CLUSTER_DIR/pause.c"
  "$IMAGE_TOOL" -name localhost/pause:1 -user 65535:65535 -entrypoint /pause -o "$IMAGES/node/pause.tar" "$work/pause=/pause"
}

part_frr() {
  part "making the FRR router image from Debian's packages" "$IMAGES/docker/frr.tar" make_frr \
    "$CLUSTER_DIR/frr" "$REPO_ROOT/hack/image"
}

make_frr() {
  local work=$NODROP_CACHE/work/frr
  apt_lists
  rm -rf "$work"
  "$CLUSTER_DIR/frr/make-root" "$work"
  mkdir -p "$IMAGES/docker"
  "$IMAGE_TOOL" -name localhost/nodrop-frr:8.4 -cmd /usr/local/sbin/start-frr -o "$IMAGES/docker/frr.tar" "$work/root=/"
  rm -rf "$work"
}
