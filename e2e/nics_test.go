//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// nicResource is the resource as which a test's device plugin offers NICs.
	nicResource = "test.nodrop.dev/nic"
	// nicDriver is the driver of a test's resource claims.
	nicDriver = "nic.test.nodrop.dev"
)

// makeNICs makes one NIC for every name on the node, each a veth whose other end
// is a port of one bridge: the device under test. The name of the bridge begins with the first name.
func makeNICs(t *testing.T, names ...string) {
	t.Helper()
	g := NewWithT(t)
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: names[0] + "-br"}}
	g.Expect(netlink.LinkAdd(bridge)).To(Succeed())
	t.Cleanup(func() { removeLink(t, bridge.Name) })
	g.Expect(netlink.LinkSetUp(bridge)).To(Succeed())
	tool, err := ethtool.NewEthtool()
	g.Expect(err).NotTo(HaveOccurred())
	defer tool.Close()
	for _, name := range names {
		port := name + "-port"
		veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: port}
		g.Expect(netlink.LinkAdd(veth)).To(Succeed())
		t.Cleanup(func() { removeLink(t, port) }) // and with it its other end, wherever it is
		end, err := netlink.LinkByName(port)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(netlink.LinkSetMaster(end, bridge)).To(Succeed())
		g.Expect(netlink.LinkSetUp(end)).To(Succeed())
		// With it a veth takes frames from the engine's XDP program.
		g.Expect(tool.Change(port, map[string]bool{"rx-gro": true})).To(Succeed())
	}
}

func removeLink(t *testing.T, name string) {
	link, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.LinkDel(link)
	}
	if err != nil {
		t.Errorf("removing %s: %v", name, err)
	}
}

// offerNICs starts a program on the node that offers NICs until the test ends.
func offerNICs(t *testing.T, program string, args ...string) {
	t.Helper()
	var log bytes.Buffer
	offer := exec.Command(program, args...)
	offer.Stderr = &log
	if err := offer.Start(); err != nil {
		t.Fatalf("starting %s: %v", program, err)
	}
	t.Cleanup(func() {
		g := NewWithT(t)
		g.Expect(offer.Process.Signal(syscall.SIGTERM)).To(Succeed())
		g.Expect(offer.Wait()).To(Succeed(), "%s did not end well", program)
		t.Logf("%s:\n%s", program, log.String())
	})
}

// expectNoSockets checks that what offered NICs left nothing in the kubelet's
// folders.
func expectNoSockets(t *testing.T) {
	g := NewWithT(t)
	for _, folder := range []string{"device-plugins", "plugins_registry", "plugins"} {
		left, err := filepath.Glob(filepath.Join("/var/lib/kubelet", folder, "*test.nodrop.dev*"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(left).To(BeEmpty())
	}
}

// awaitNICs waits until the node offers so many NICs. The kubelet tells of them
// with its next status, which this cluster's sends every 10 s.
func (l *lab) awaitNICs(t *testing.T, count int64) {
	t.Helper()
	NewWithT(t).Eventually(func(g Gomega) {
		var node corev1.Node
		g.Expect(l.Get(t.Context(), client.ObjectKey{Name: "node1"}, &node)).To(Succeed())
		offered := node.Status.Allocatable[nicResource]
		g.Expect(offered.Value()).To(Equal(count))
	}, 90*time.Second, poll).Should(Succeed(), "the node does not offer %s", nicResource)
}

// hardwareAddresses returns the MAC addresses of the NICs that are on the node, by name.
func hardwareAddresses(names ...string) map[string]string {
	addresses := map[string]string{}
	for _, name := range names {
		if nic, err := net.InterfaceByName(name); err == nil {
			addresses[name] = nic.HardwareAddr.String()
		}
	}
	return addresses
}

// hardwareAddressesInPod returns the MAC addresses of interfaces in the pod of process pid.
func hardwareAddressesInPod(t *testing.T, pid int, names ...string) []string {
	t.Helper()
	var addresses []string
	for _, name := range names {
		content, err := os.ReadFile(fmt.Sprintf("/proc/%d/root/sys/class/net/%s/address", pid, name))
		if err != nil {
			t.Fatalf("looking for interface %s in the traffic pod: %v", name, err)
		}
		addresses = append(addresses, strings.TrimSpace(string(content)))
	}
	return addresses
}
