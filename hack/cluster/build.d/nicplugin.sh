# nicplugin and nicdriver, which offer interfaces of the node to pods: as a resource
# and by dynamic resource allocation. The end-to-end tests start them; Multus finds
# the first as a CNI plugin too.

NIC_PLUGIN=$NODROP_CACHE/bin/nicplugin

part_nicplugin() {
  part "building the device plugins of the end-to-end tests" "$NIC_PLUGIN" make_nicplugin \
    "$REPO_ROOT/hack/go.mod" "$REPO_ROOT/hack/nicplugin" "$REPO_ROOT/hack/nicdriver"
}

make_nicplugin() {
  (cd "$REPO_ROOT/hack" && compile build -trimpath -ldflags "-s -w" -o "$NODROP_CACHE/bin/" ./nicplugin ./nicdriver)
  mkdir -p "$CNI_BIN"
  ln -sf ../../bin/nicplugin "$CNI_BIN/nodrop-nic"
}
