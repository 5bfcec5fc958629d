# The local cluster: a real single-node Kubernetes in namespaces of its own.
# Included by the top Makefile.

NODROP_CACHE ?= $(CURDIR)/.cache
NODROP_STATE ?= $(CURDIR)/.state/cluster
export NODROP_CACHE NODROP_STATE

# etcd, kube-apiserver and kubectl for the controller tests.
KUBEBUILDER_ASSETS ?= $(NODROP_CACHE)/k8s/bin

.PHONY: cluster-build cluster-assets cluster-up cluster-down cluster-images cluster-check-clean

cluster-build: ## Build all that the local cluster runs (about 8 minutes the first time)
	hack/cluster/build

cluster-assets: ## Build etcd, kube-apiserver and kubectl for the tests only
	hack/cluster/build packages kubernetes

cluster-up: ## Start the local cluster
	hack/cluster/up

cluster-images: ## Build the project's images and load them into the local cluster
	hack/cluster/build-images

cluster-down: ## Stop the local cluster and delete its state
	hack/cluster/down

cluster-check-clean: ## Fail if the local cluster left anything on this machine
	hack/cluster/check-clean
