package trex_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/trex"
	"nodrop.dev/nodrop/internal/traffic/trex/server"
)

const (
	// dirVariable names the directory of a real server, which the tests start and end
	// themselves, as root.
	dirVariable = "NODROP_TREX_DIR"
	// insideVariable is set if this process is in a network namespace of its own.
	insideVariable = "NODROP_TREX_INSIDE"
	// ringFrames is so large that the rings drop nothing at the rates of the suite.
	ringFrames = 16384
	rpcPort    = 4501
)

// patience is above what the start of a server takes on a busy machine. On cards it waits
// for their links, and emulated ones take minutes.
var patience = func() time.Duration {
	if trex.OnCards() {
		return 5 * time.Minute
	}
	return time.Minute
}()

// TestMain runs the tests in a process whose network namespace is its own, when
// they start servers: no frame leaves it, and nothing of it is left.
func TestMain(m *testing.M) {
	if os.Getenv(dirVariable) == "" || os.Geteuid() != 0 {
		os.Exit(m.Run())
	}
	if os.Getenv(insideVariable) == "" {
		os.Exit(inside())
	}
	r := &real{}
	trex.StartReal = r.start
	code, err := 1, r.namespace()
	if err == nil {
		code = m.Run()
		err = r.end()
	}
	if err != nil {
		log.Print(err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// inside runs this test binary once more, in a namespace.
func inside() int {
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Env = append(os.Environ(), insideVariable+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Exited() {
		return exit.ExitCode()
	}
	if err != nil {
		log.Printf("running the tests in a network namespace: %v", err)
		return 1
	}
	return 0
}

// real is the real server of the tests. It polls, so that there is one at a time.
type real struct {
	server *server.Server
	lossy  bool
	// device is the bridge.
	device traffic.MAC
}

// namespace makes the interfaces: c0 and c1 are a cable, l0 and l1 are joined by a
// bridge that drops frames. On cards both pairs are there, and the bridge gets the
// interfaces at the other ends of the second.
func (r *real) namespace() error {
	// The kernel sends nothing of its own, except as the device.
	if err := sysctl("default/disable_ipv6", "1"); err != nil {
		return err
	}
	bridge := &netlink.Bridge{LinkAttrs: netlink.NewLinkAttrs()}
	bridge.Name = "device"
	bridge.HardwareAddr = net.HardwareAddr{2, 0, 0, 0, 0xd, 0xe}
	r.device = traffic.MAC(bridge.HardwareAddr)
	if err := netlink.LinkAdd(bridge); err != nil {
		return fmt.Errorf("making a bridge: %w", err)
	}
	if err := errors.Join(sysctl("device/disable_ipv6", "0"), sysctl("device/accept_dad", "0")); err != nil {
		return err
	}
	for _, address := range []string{trex.NeighbourIPv4 + "/24", trex.NeighbourIPv6 + "/64"} {
		parsed, err := netlink.ParseAddr(address)
		if err == nil {
			err = netlink.AddrAdd(bridge, parsed)
		}
		if err != nil {
			return fmt.Errorf("giving the device %s: %w", address, err)
		}
	}
	ends, err := []string{"d0", "d1"}, error(nil)
	if trex.OnCards() {
		ends, err = takePeers()
	} else {
		err = makeCables()
	}
	if err != nil {
		return err
	}
	for _, name := range append([]string{"lo", "device"}, ends...) {
		link, err := netlink.LinkByName(name)
		if err == nil && slices.Contains(ends, name) {
			err = netlink.LinkSetMaster(link, bridge)
		}
		if err == nil {
			err = netlink.LinkSetUp(link)
		}
		if err != nil {
			return fmt.Errorf("setting up %s: %w", name, err)
		}
	}
	if err := linked(ends); err != nil {
		return err
	}
	return dropSome()
}

// makeCables makes the pairs of interfaces for packet sockets.
func makeCables() error {
	for near, far := range map[string]string{"c0": "c1", "l0": "d0", "l1": "d1"} {
		veth := netlink.NewVeth(netlink.LinkAttrs{Name: near, MTU: 1500})
		veth.PeerName = far
		err := netlink.LinkAdd(veth)
		if err != nil {
			return fmt.Errorf("making %s and %s: %w", near, far, err)
		}
		for _, name := range []string{near, far} {
			link, err := netlink.LinkByName(name)
			if err == nil {
				err = netlink.LinkSetUp(link)
			}
			if err != nil {
				return fmt.Errorf("setting up %s: %w", name, err)
			}
		}
	}
	return nil
}

func sysctl(name, value string) error {
	return os.WriteFile("/proc/sys/net/ipv6/conf/"+name, []byte(value), 0)
}

// start returns the server of the tests, running already or started now.
func (r *real) start(t *testing.T, lossy bool) trex.RealServer {
	t.Helper()
	if r.server == nil || r.lossy != lossy {
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
		r.lossy = lossy
		r.begin(t)
	}
	found := trex.RealServer{Endpoint: r.server.Endpoint(), Restart: r.restart}
	if lossy {
		found.Neighbour, found.Limit = r.device, limitSome
	}
	return found
}

func (r *real) begin(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	dir, err := filepath.Abs(os.Getenv(dirVariable))
	if err != nil {
		t.Fatal(err)
	}
	c := server.Config{Dir: dir, RPCPort: rpcPort}
	if trex.OnCards() {
		r.cards(t, &c)
	} else {
		r.sockets(&c)
	}
	r.server, err = server.Start(ctx, c, server.Options{})
	if err != nil {
		t.Fatal(err)
	}
}

// sockets gives the server packet sockets.
func (r *real) sockets(c *server.Config) {
	c.Software = &server.Software{RingFrames: ringFrames}
	c.Ports = []server.Port{{Name: "left", Interface: "c0"}, {Name: "right", Interface: "c1"}}
	if r.lossy {
		c.Ports[0].Interface, c.Ports[1].Interface = "l0", "l1"
	}
}

// restart kills the server without a clean shutdown, and starts another.
func (r *real) restart(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(r.server.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-r.server.Done():
	case <-time.After(patience):
		t.Fatal("the server was killed and did not end")
	}
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	r.begin(t)
}

func (r *real) end() error {
	if r.server == nil {
		return nil
	}
	err := r.server.Close()
	r.server = nil
	return err
}
