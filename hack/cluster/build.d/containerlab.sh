# containerlab, which wires the virtual devices of a lab.

CONTAINERLAB=$NODROP_CACHE/containerlab/containerlab

part_containerlab() {
  part "building containerlab $CONTAINERLAB_VERSION (about 2 min the first time)" "$CONTAINERLAB" \
    make_containerlab "$CONTAINERLAB_VERSION"
}

# containerlab refuses to deploy where /proc/modules is missing, as it is on a
# kernel built without module support. Such a kernel has what it has built in,
# so a missing file is taken as "loaded"; with the file nothing changes.
make_containerlab() {
  local module=github.com/srl-labs/containerlab version=v$CONTAINERLAB_VERSION source overlay
  (cd / && go mod download "$module@$version")
  source=$(go env GOMODCACHE)/$module@$version
  overlay=$NODROP_CACHE/containerlab/overlay
  mkdir -p "$overlay"
  sed 's|f, err := os.Open("/proc/modules")|&\n\tif os.IsNotExist(err) {\n\t\treturn true, nil\n\t}|' \
    "$source/utils/kernel_module.go" > "$overlay/kernel_module.go"
  grep -q 'os.IsNotExist(err)' "$overlay/kernel_module.go" ||
    die "containerlab $version opens /proc/modules elsewhere now; adapt build.d/containerlab.sh"
  printf '{"Replace": {"%s": "%s"}}\n' "$source/utils/kernel_module.go" "$overlay/kernel_module.go" > "$overlay/overlay.json"
  (cd "$source" && go build -trimpath -overlay "$overlay/overlay.json" \
    -ldflags "-s -w -X $module/cmd/version.Version=$CONTAINERLAB_VERSION" -o "$CONTAINERLAB" .)
}
