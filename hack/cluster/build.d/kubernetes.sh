# Kubernetes, etcd, kubectl and helm as one program under many names, and the
# CNI plugins and Multus, which its go.mod pins as tools.

KUBERNETES_BIN=$NODROP_CACHE/k8s/bin
CNI_BIN=$NODROP_CACHE/cni/bin

part_kubernetes() {
  part "building Kubernetes $KUBERNETES_VERSION (3,100 packages, about 5 min the first time)" "$KUBERNETES_BIN/kube" \
    make_kubernetes "$CLUSTER_DIR/kube" "$KUBERNETES_VERSION" "$HELM_VERSION"
}

make_kubernetes() {
  local package flags="-s -w -X helm.sh/helm/v4/internal/version.version=v$HELM_VERSION" name
  # Without the stamp the server would call itself v0.0.0.
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    flags+=" -X $package.gitVersion=v$KUBERNETES_VERSION -X $package.gitTreeState=archive"
    flags+=" -X $package.gitMajor=${KUBERNETES_VERSION%%.*} -X $package.gitMinor=$(cut -d. -f2 <<<"$KUBERNETES_VERSION")"
  done
  mkdir -p "$KUBERNETES_BIN"
  (cd "$CLUSTER_DIR/kube" && compile build -trimpath -ldflags "$flags" -o "$KUBERNETES_BIN/kube" .)
  for name in etcd kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubectl helm; do
    ln -sf kube "$KUBERNETES_BIN/$name"
  done
}

part_cni() {
  part "building the CNI plugins and Multus" "$CNI_BIN/multus" make_cni "$CLUSTER_DIR/kube/go.mod"
}

make_cni() {
  mkdir -p "$CNI_BIN"
  (cd "$CLUSTER_DIR/kube" && compile build -trimpath -ldflags "-s -w" -o "$CNI_BIN/" tool)
}
