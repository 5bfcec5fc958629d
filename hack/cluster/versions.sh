# What the local cluster is made of. Every version is pinned; Go checks the
# modules against go.sum or the checksum database, apt against Debian's keys.

KUBERNETES_VERSION=1.36.3       # must agree with kube/go.mod
HELM_VERSION=4.2.4              # must agree with kube/go.mod: the newest that shares Kubernetes 0.36
CONTAINERD_VERSION=2.4.2
RUNC_VERSION=1.5.2
CONTAINERLAB_VERSION=0.69.3
