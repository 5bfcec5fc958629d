# containerd and runc: from their Go modules, since Debian 12 has versions that
# Kubernetes of today no longer supports.

RUNTIME_BIN=$NODROP_CACHE/runtime/bin

part_containerd() {
  part "building containerd $CONTAINERD_VERSION" "$RUNTIME_BIN/containerd" make_containerd "$CONTAINERD_VERSION"
}

make_containerd() {
  local module=github.com/containerd/containerd/v2 version=v$CONTAINERD_VERSION
  mkdir -p "$RUNTIME_BIN"
  (cd / && GOBIN=$RUNTIME_BIN compile install -trimpath -tags no_btrfs,no_zfs,no_devmapper,no_aufs \
    -ldflags "-s -w -X $module/version.Version=$version" \
    "$module/cmd/containerd@$version" "$module/cmd/containerd-shim-runc-v2@$version" "$module/cmd/ctr@$version")
}

part_runc() {
  part "building runc $RUNC_VERSION" "$RUNTIME_BIN/runc" make_runc "$RUNC_VERSION"
}

# runc is C in part, and needs libseccomp for the default seccomp profile that
# the restricted Pod Security level asks for.
make_runc() {
  need_packages libseccomp-dev pkg-config
  (cd / && CGO_ENABLED=1 GOBIN=$RUNTIME_BIN compile install -trimpath -tags seccomp \
    -ldflags "-s -w -X main.version=$RUNC_VERSION" "github.com/opencontainers/runc@v$RUNC_VERSION")
}
