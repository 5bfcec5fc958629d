package main

// kernel is one that machines are started with.
type kernel struct {
	// name that hack/vm/run knows it by.
	name string
	// title in the table.
	title string
}

var kernels = []kernel{
	{"debian12", "Debian 12"},
	{"debian13", "Debian 13"},
	{"backports", "Debian 13 backports"},
}

// card is an emulated network card, with two ports on one cable.
type card struct {
	name string
	// device that QEMU emulates.
	device string
	// setUp prepares the interfaces of the card, and sets a and b to their names.
	setUp string
	// refuses has a part of the message by which NoDrop refuses a check.
	refuses map[string]string
}

var cards = []card{
	{name: "igb", device: "igb"},
	{name: "igbvf", device: "igb", setUp: functions, refuses: map[string]string{"vlan": "the driver igbvf drops frames of VLANs"}},
	{name: "e1000e", device: "e1000e", setUp: longRings},
	{name: "vmxnet3", device: "vmxnet3"},
	{name: "virtio-net", device: "virtio-net-pci,rx_queue_size=1024"},
}

// longRings gives each port the longest receive ring. QEMU can deliver frames out of order
// after the ring was full.
const longRings = `
for i in $a $b; do ethtool -G $i rx 4096; done
`

// functions makes one VF of each port, and names them vf0 and vf1. The ports pass frames
// to their VFs only while they are up. The driver finds a VF after that has its address:
// otherwise it takes a random one, whose frames the port drops.
const functions = `
modprobe igbvf
for i in 0 1; do
  ip link set dev eth$i up
  echo 0 > /sys/class/net/eth$i/device/sriov_drivers_autoprobe
  echo 1 > /sys/class/net/eth$i/device/sriov_numvfs
  ip link set dev eth$i vf 0 mac 02:00:00:00:01:0$i spoofchk off trust on
  echo 1 > /sys/class/net/eth$i/device/sriov_drivers_autoprobe
  basename "$(readlink /sys/class/net/eth$i/device/virtfn0)" > /sys/bus/pci/drivers_probe
done
for i in 0 1; do
  until vf=$(ls /sys/class/net/eth$i/device/virtfn0/net 2>/dev/null) && [ -n "$vf" ]; do read -rt 0.2 <> <(:) || true; done
  ip link set dev "$vf" down; ip link set dev "$vf" name vf$i
done
a=vf0 b=vf1
`
