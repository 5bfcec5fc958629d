# containerlab, which wires the virtual devices of a lab.

CONTAINERLAB=$NODROP_CACHE/containerlab/containerlab

part_containerlab() {
  part "building containerlab $CONTAINERLAB_VERSION (1,000 packages, about 2 min the first time)" "$CONTAINERLAB" \
    make_containerlab "$CONTAINERLAB_VERSION"
}

# containerlab refuses to deploy where /proc/modules is missing, as it is on a
# kernel built without module support. Such a kernel has what it has built in,
# so a missing file is taken as "loaded"; with the file nothing changes. Go
# replaces no file of its module cache, so this makes a copy.
make_containerlab() {
  local module=github.com/srl-labs/containerlab version=v$CONTAINERLAB_VERSION source file
  source=$NODROP_CACHE/work/containerlab
  file=$source/utils/kernel_module.go
  (cd / && go mod download "$module@$version")
  mkdir -p "$(dirname "$CONTAINERLAB")" "$source"
  cp -r "$(go env GOMODCACHE)/$module@$version/." "$source/"
  chmod -R u+w "$source"
  sed -i 's|f, err := os.Open("/proc/modules")|&\n\tif os.IsNotExist(err) {\n\t\treturn true, nil\n\t}|' "$file"
  grep -q 'os.IsNotExist(err)' "$file" ||
    die "containerlab $version opens /proc/modules elsewhere now; adapt build.d/containerlab.sh"
  (cd "$source" && compile build -trimpath -ldflags "-s -w -X $module/cmd/version.Version=$CONTAINERLAB_VERSION" -o "$CONTAINERLAB" .)
  rm -rf "$source"
}
