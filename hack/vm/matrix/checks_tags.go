package main

import "time"

// tagChecks use the kernel's own VLANs and label switching as the device under test.
var tagChecks = []check{
	{name: "vlan", title: "802.1Q", limit: 20 * time.Minute,
		what: "Ports in VLANs send through the kernel's 802.1Q interfaces (module `8021q`), bridged in a namespace, and no frame is lost.",
		script: device + `modprobe 8021q
for n in 1 2; do
  ip -n dev link add link d$n name d$n.100 type vlan id 100
  ip -n dev link set d$n.100 master switch
  ip -n dev link set d$n.100 up
done
` + manifest{interfaces: veths, port: ", vlan: {id: 100}", frames: "[128]", policy: "{vlans: [{first: 100}]}", tests: []string{latencyTest}}.measure("")},
	{name: "mpls", title: "label switching", limit: 20 * time.Minute,
		what: "Frames with label 100 are forwarded by the kernel (module `mpls_router`) in a namespace, with label 200, and no frame is lost.",
		script: device + `modprobe mpls_router; modprobe mpls_iptunnel
for n in 1 2; do
  ip -n dev link set d$n nomaster
  ip netns exec dev sysctl -qw net.mpls.platform_labels=1000 net.mpls.conf.d$n.input=1
done
ip -n dev addr add 198.18.1.1/24 dev d1; ip -n dev addr add 198.18.2.1/24 dev d2
ip -n dev -f mpls route add 100 as 200 via inet 198.18.2.3 dev d2
` + manifest{interfaces: veths, networks: [2]string{"198.18.1", "198.18.2"}, gateways: [2]string{"198.18.1.1", "198.18.2.1"},
			frames: "[128]", policy: "{mplsLabels: [{first: 100}]}", pattern: oneWay, packet: "{ipv4: {}, mpls: {labels: [100]}}", tests: []string{latencyTest}}.measure("")},
}

// veths are the near ends of the cables to the device.
var veths = [2]string{"v1", "v2"}

// device makes a namespace "dev" with a bridge "switch", cabled to the interfaces v1 and v2.
const device = `ip netns add dev
ip -n dev link add name switch type bridge
ip -n dev link set switch up
for n in 1 2; do
  ip link add name v$n type veth peer name d$n netns dev
  ip -n dev link set d$n master switch
  ip -n dev link set d$n up
  ip link set v$n up
done
trap 'ip netns del dev' EXIT
`
