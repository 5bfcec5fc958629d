// Command node runs a real single-node Kubernetes cluster inside namespaces of
// its own, so that nothing of the machine's network, mounts or processes
// changes, and removing it is killing one process.
//
//	node up            starts the cluster and returns when it can be used
//	node down          stops it and deletes its state
//	node load FILE...  loads image archives into the cluster
//	node check-clean   lists what the cluster left on the machine, fails if anything
//
// "up" starts this same program as process 1 of new pid, mount, network, UTS and
// IPC namespaces ("node init", see init.go). That process sets up the
// namespaces and is the parent of every daemon: etcd, the Kubernetes control
// plane, kubelet, kube-proxy, containerd and dockerd.
//
// NODROP_CACHE names the folder that hack/cluster/build fills, NODROP_STATE the
// folder of the running cluster.
package main
