package sshrouter

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// Bridge is the bridge of OpenVSwitch.
const Bridge = "br0"

// OpenVSwitch is Debian's Open vSwitch with one bridge in user space, in a network namespace that is reached through OpenSSH.
type OpenVSwitch struct{ Linux }

// StartOpenVSwitch starts such a device, whose bridge has no port and drops all frames, until the test ends. It skips the test
// without the rights for that.
func StartOpenVSwitch(t testing.TB) *OpenVSwitch {
	t.Helper()
	return StartOpenVSwitchAt(t, "127.0.0.1")
}

// StartOpenVSwitchAt is StartOpenVSwitch with an OpenSSH server at an address of this machine.
func StartOpenVSwitchAt(t testing.TB, host string) *OpenVSwitch {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may make network namespaces")
	}
	const program = "/usr/bin/ovs-ofctl"
	root := strings.TrimSuffix(testserver.Binary(t, "openvswitch"+program, "Open vSwitch", "hack/openvswitch/build"), program)
	o := &OpenVSwitch{Linux{device{t: t, folder: t.TempDir()}}}
	o.startNamespace()
	libraries, _ := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-gnu"))
	o.environment = []string{
		"LD_LIBRARY_PATH=" + strings.Join(libraries, ":"), fmt.Sprintf("PATH=%[1]s/usr/bin:%[1]s/usr/sbin:%[1]s/usr/lib/openvswitch-switch:%[2]s", root, os.Getenv("PATH")),
		"OVS_RUNDIR=" + o.folder, "OVS_DBDIR=" + o.folder, "OVS_LOGDIR=" + o.folder, "OVS_SYSCONFDIR=" + o.folder,
	}
	database, socket := filepath.Join(o.folder, "conf.db"), filepath.Join(o.folder, "db.sock")
	o.Run("ovsdb-tool", "create", database, filepath.Join(root, "usr/share/openvswitch/vswitch.ovsschema"))
	o.startWithin("ovsdb-server", "ovsdb-server", database, "--remote=punix:"+socket)
	o.until("ovs-vsctl", "--no-wait", "init")
	o.startWithin("ovs-vswitchd", "ovs-vswitchd", "unix:"+socket)
	o.until("ovs-vsctl", "--timeout=10", "add-br", Bridge, "--", "set", "bridge", Bridge, "datapath_type=netdev", "fail-mode=secure")
	o.until("ovs-ofctl", "-O", "OpenFlow13", "show", Bridge)
	o.serveShell(host)
	return o
}

// AddPort makes an interface of a device with Open vSwitch a port of its bridge, with a number in OpenFlow.
func (l *Linux) AddPort(name string, number int) {
	l.t.Helper()
	l.Run("ovs-vsctl", "--timeout=10", "add-port", Bridge, name, "--", "set", "interface", name, fmt.Sprintf("ofport_request=%d", number))
}

// Flows is the configuration of a device with Open vSwitch, as its own program prints it.
func (l *Linux) Flows() string {
	l.t.Helper()
	return "bridge " + Bridge + "\n" + l.Run("ovs-ofctl", "-O", "OpenFlow13", "--no-stats", "--no-names", "dump-flows", Bridge)
}

// startWithin starts a program that ends with the test in the network namespace of the device.
func (d *device) startWithin(what string, args ...string) {
	d.t.Helper()
	cmd := d.within(args...)
	d.start(what, cmd.Args...)
}

// until runs a program until it succeeds.
func (d *device) until(args ...string) {
	d.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		out, err := d.within(args...).CombinedOutput()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			d.t.Fatalf("%q: %v: %s", args, err, out)
		}
	}
}
