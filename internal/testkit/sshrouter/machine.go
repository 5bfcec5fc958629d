package sshrouter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/sshaccess"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// machine contains the parts of an emulated machine that a network namespace does not have.
type machine struct {
	// free are the ports that are not cabled yet.
	free []machinePort
	// cabled has the names of interfaces of this network namespace, each with the one of the machine.
	cabled map[string]string
	// client is the connection on which Run runs programs.
	client *ssh.Client
}

// machinePort is an interface of this network namespace (TAP), which leads to a card of an emulated machine with an address.
type machinePort struct{ tap, address string }

const (
	// machineKernel is the kernel of emulated machines, as hack/vm/run names it.
	machineKernel = "debian13"
	// machineShare is the path at which the machine finds the folder of the device.
	machineShare = "/run/vm/out"
	// bootWithin bounds the start of a machine, in which hack/vm/run may start it three times.
	bootWithin = 9 * time.Minute
	// machineLife is the longest life of a machine, so that one whose test was killed ends.
	machineLife = 15 * time.Minute
)

// StartMachine boots an emulated machine with Debian's kernel, which loads some modules, until the test ends. It has some ports,
// which Cable connects to this network namespace, and a management interface, at which OpenSSH answers. Of the methods of a device only Cable, Run and Routes work on it. It skips the test without
// the rights for that, or without QEMU and the kernel.
func StartMachine(t testing.TB, ports int, modules ...string) *Linux {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may make network namespaces")
	}
	testserver.Installed(t, "qemu-system-x86_64", "QEMU", "hack/vm/install")
	testserver.Cached(t, filepath.Join("vm", machineKernel, "release"), "kernel of an emulated machine", "hack/vm/prepare "+machineKernel)
	s := opensshServer(t)
	l := &Linux{device{t: t, folder: t.TempDir(), machine: &machine{cabled: map[string]string{}}}}
	share := t.TempDir()
	address := managementThere + ":22"
	l.writeConfig(s, address, `sh -c "$SSH_ORIGINAL_COMMAND"`, share, machineShare)

	management := machinePort{"nd-machine", "52:54:00:00:01:00"}
	qemu := management.qemu("management")
	for i := range ports {
		p := machinePort{fmt.Sprintf("nd-machine%d", i+1), fmt.Sprintf("52:54:00:00:01:%02x", i+1)}
		qemu += p.qemu(fmt.Sprintf("port%d", i+1))
		l.machine.free = append(l.machine.free, p)
	}
	script := fmt.Sprintf(`set -e
for m in %s; do modprobe $m; done
cp %[2]s/passwd %[2]s/shadow /etc
mkdir -p -m 755 /run/sshd
sysctl -qw net.ipv4.ip_forward=1
%[3]s management
ip address add %[4]s/30 dev management
ip link set management up
LD_LIBRARY_PATH=%[5]s exec %[6]s -D -e -f %[2]s/config
`, strings.Join(modules, " "), machineShare, management.rename(), managementThere, s.libraries, s.program)
	// TERM lets hack/vm/run end the machine and remove its files. No process survives it in its namespace.
	t.Cleanup(func() { l.awaitEnd(management.tap) })
	l.start("machine", "env", "--chdir=/", "VM_CARD=none", "VM_CPUS=1", "VM_MEMORY=512", fmt.Sprintf("VM_TIMEOUT=%d", int(machineLife.Seconds())), "VM_OUT="+share, "VM_QEMU="+qemu,
		"unshare", "--pid", "--fork", "--kill-child=TERM", filepath.Join(kubetest.Root(t), "hack/vm/run"), machineKernel, "bash", "-c", script)
	l.awaitMachine(address, management.tap)
	return l
}

// qemu returns the arguments with which QEMU makes the card and its TAP.
func (p machinePort) qemu(id string) string {
	return fmt.Sprintf("-netdev tap,id=%[1]s,ifname=%[2]s,script=no,downscript=no -device virtio-net-pci,netdev=%[1]s,mac=%[3]s,rx_queue_size=1024,tx_queue_size=256 ", id, p.tap, p.address)
}

// rename returns the command that gives the card a name, which follows.
func (p machinePort) rename() string {
	return fmt.Sprintf("ip link set $(basename $(dirname $(grep -l %s /sys/class/net/*/address))) name", p.address)
}

// awaitMachine connects to the machine when it has started.
func (d *device) awaitMachine(address, tap string) {
	d.t.Helper()
	access := d.Access()
	access.Address, access.Timeout = address, time.Minute
	ctx, cancel := context.WithCancel(context.Background())
	d.t.Cleanup(cancel)
	up := false
	for deadline := time.Now().Add(bootWithin); ; time.Sleep(200 * time.Millisecond) {
		err := errors.New("QEMU has made no interface")
		if !up {
			up = exec.Command("ip", "address", "add", managementHere+"/30", "dev", tap).Run() == nil && exec.Command("ip", "link", "set", tap, "up").Run() == nil
		}
		if up {
			if d.machine.client, err = access.Connect(ctx); err == nil {
				d.Address = address
				return
			}
		}
		log, _ := os.ReadFile(filepath.Join(d.folder, "machine.out"))
		if time.Now().After(deadline) || errors.Is(err, configure.ErrRefused) || strings.Contains(string(log), "\nerror: ") {
			d.t.Fatalf("the machine does not answer: %v: %s", err, log)
		}
	}
}

// awaitEnd waits until the machine has ended, and with it its interfaces in this network namespace.
func (d *device) awaitEnd(tap string) {
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := net.InterfaceByName(tap); err != nil {
			return
		}
		if time.Now().After(deadline) {
			d.t.Errorf("the machine did not end")
			return
		}
	}
}

// plug connects the next port of the machine: it names the interface of this network namespace, and the one of the machine. Ports
// that are connected stay so.
func (d *device) plug(here, there string) {
	d.t.Helper()
	if d.machine.cabled[here] == there {
		return
	}
	if len(d.machine.free) == 0 {
		d.t.Fatalf("%s: the machine has no further port", there)
	}
	p := d.machine.free[0]
	d.machine.free = d.machine.free[1:]
	d.output(exec.Command("ip", "link", "set", p.tap, "name", here))
	d.runInMachine([]string{"sh", "-c", p.rename() + " " + there + " && ip link set " + there + " up"})
	d.machine.cabled[here] = there
}

// runInMachine runs a program in the machine, which must succeed, and returns what it prints.
func (d *device) runInMachine(args []string) string {
	d.t.Helper()
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	}
	out, problems, err := sshaccess.Run(d.machine.client, strings.Join(quoted, " "), "")
	if err != nil {
		d.t.Fatalf("%q: %v: %s", args, err, problems)
	}
	return out
}
