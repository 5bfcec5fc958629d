package server

import (
	"fmt"
	"slices"
	"strings"
)

// dummy is TRex's name for a port that does not exist: TRex counts ports in pairs.
const dummy = "dummy"

// interfaces returns the server's ports as its configuration names them, one for
// each port and in their order.
func (c Config) interfaces(env func(string) string, m Machine) ([]string, error) {
	if c.Software != nil {
		return c.sockets(m)
	}
	addresses, err := c.cards(env)
	if err != nil {
		return nil, err
	}
	return addresses, c.driven(addresses, m)
}

// forDPDK are the drivers of the kernel that a card may have when TRex takes it: those that
// leave it to a process, and the drivers of cards that DPDK drives next to the kernel.
var forDPDK = []string{"vfio-pci", "uio_pci_generic", "igb_uio", "mlx5_core", "mlx4_core"}

// undriven are cards, by vendor and device, for which DPDK has a driver and TRex has none.
var undriven = map[string]string{
	"8086:10ca": "a virtual function of an Intel 82576",
	"8086:152d": "a virtual function of an Intel 82576",
	"8086:1520": "a virtual function of an Intel I350",
	"8086:152f": "a virtual function of an Intel I350",
}

// driven fails when TRex has no driver for a card, or the card has a driver of the kernel
// that does not leave it to TRex. DPDK leaves out such a card, and TRex then ends with the
// number of ports that it lacks.
func (c Config) driven(addresses []string, m Machine) error {
	for i, address := range addresses {
		card, ok := m.Cards[address]
		if what := undriven[card.ID]; what != "" {
			return fmt.Errorf("card %s of port %s is %s, for which TRex has no driver: use the physical function, the engine xdp, or engine.trex.software: {} with the interface of the function", address, c.Ports[i].Name, what)
		}
		if !ok || slices.Contains(forDPDK, card.Driver) {
			continue
		}
		driver := "no driver"
		if card.Driver != "" {
			driver = "the driver " + card.Driver
		}
		return fmt.Errorf("card %s of port %s has %s of the kernel, which does not leave it to TRex: bind it to vfio-pci (driverctl set-override %s vfio-pci), and let the device plugin offer cards with this driver alone", address, c.Ports[i].Name, driver, address)
	}
	return nil
}

// sockets returns packet sockets.
func (c Config) sockets(m Machine) ([]string, error) {
	var all []string
	for i, p := range c.Ports {
		if p.Interface == "" {
			return nil, fmt.Errorf("ports[%d].interface of port %s is empty: TRex needs an interface for its packet sockets", i, p.Name)
		}
		mtu, ok := m.MTUs[p.Interface]
		if !ok {
			return nil, fmt.Errorf("ports[%d].interface %q of port %s does not exist in this network namespace: check the port's attachment in the TestBed", i, p.Interface, p.Name)
		}
		all = append(all, ringFor(c.Software.RingFrames, mtu).device(i, p.Interface))
	}
	return all, nil
}

// cards returns the PCI addresses from device plugins.
func (c Config) cards(env func(string) string) ([]string, error) {
	var all []string
	taken := map[string]int{}
	for i, p := range c.Ports {
		if p.Resource == "" {
			return nil, fmt.Errorf("ports[%d].resource of port %s is empty: TRex on DPDK needs a card of a device plugin; attach the port by sriov, or choose engine.trex.software", i, p.Name)
		}
		name := Variable(p.Resource)
		var addresses []string
		for a := range strings.SplitSeq(env(name), ",") {
			if a = strings.TrimSpace(a); a != "" {
				addresses = append(addresses, a)
			}
		}
		turn := taken[p.Resource]
		if turn >= len(addresses) {
			return nil, fmt.Errorf("port %s has no card: %s names %d for resource %s, and this is port %d of that resource; check that the pod asks for as many as it has ports, and that its device plugin sets %s", p.Name, name, len(addresses), p.Resource, turn+1, name)
		}
		all = append(all, addresses[turn])
		taken[p.Resource]++
	}
	return all, nil
}

// Variable is the environment variable in which the SR-IOV network device plugin
// passes the PCI addresses of a resource, separated by commas:
// PCIDEVICE_INTEL_COM_DUT_P1 for intel.com/dut_p1.
func Variable(resource string) string {
	return "PCIDEVICE_" + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_", "/", "_").Replace(resource))
}
