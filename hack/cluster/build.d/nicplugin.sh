# nicplugin, which offers interfaces of the node as a resource. The end-to-end
# tests start it; Multus finds it as a CNI plugin.

NIC_PLUGIN=$NODROP_CACHE/bin/nicplugin

part_nicplugin() {
  part "building the device plugin of the end-to-end tests" "$NIC_PLUGIN" make_nicplugin \
    "$REPO_ROOT/hack/go.mod" "$REPO_ROOT/hack/nicplugin"
}

make_nicplugin() {
  (cd "$REPO_ROOT/hack" && compile build -trimpath -ldflags "-s -w" -o "$NIC_PLUGIN" ./nicplugin)
  mkdir -p "$CNI_BIN"
  ln -sf ../../bin/nicplugin "$CNI_BIN/nodrop-nic"
}
