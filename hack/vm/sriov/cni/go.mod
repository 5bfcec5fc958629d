module nodrop.dev/nodrop/hack/vm/sriov/cni

go 1.26.0

tool github.com/intel/sriov-cni/cmd/sriov

require github.com/intel/sriov-cni v0.0.0

require github.com/containernetworking/cni v0.6.0

require github.com/containernetworking/plugins v0.7.4

require github.com/vishvananda/netlink v1.3.1

require (
	github.com/coreos/go-iptables v0.8.0 // indirect
	github.com/vishvananda/netns v0.0.5 // indirect
	golang.org/x/sys v0.10.0 // indirect
)

replace github.com/intel/sriov-cni => github.com/k8snetworkplumbingwg/sriov-cni v2.1.0+incompatible
