package sshrouter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/sshaccess"
	driver "nodrop.dev/nodrop/internal/dut/machine"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// machine contains the parts of an emulated machine that a network namespace does not have.
type machine struct {
	// free are the ports that are not cabled yet.
	free []driver.Interface
	// cabled has the names of interfaces of this network namespace, each with the one of the machine.
	cabled map[string]string
	// client is the connection on which Run runs programs.
	client *ssh.Client
}

const (
	// machineKernel is the kernel of emulated machines, as hack/vm/prepare names it.
	machineKernel = "debian13"
	// answersWithin bounds the wait for OpenSSH in a machine that has started.
	answersWithin = 2 * time.Minute
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
	release := testserver.Cached(t, filepath.Join("vm", machineKernel, "release"), "kernel of an emulated machine", "hack/vm/prepare "+machineKernel)
	s := opensshServer(t)
	l := &Linux{device{t: t, folder: t.TempDir(), machine: &machine{cabled: map[string]string{}}}}
	management := driver.Interface{TAP: "nd-machine", Name: "management"}
	for i := range ports {
		l.machine.free = append(l.machine.free, driver.Interface{TAP: fmt.Sprintf("nd-machine%d", i+1), Name: fmt.Sprintf("port%d", i+1)})
	}
	address := managementThere + ":22"
	m := driver.New(driver.Config{
		Dir: filepath.Dir(filepath.Dir(release)), Kernel: machineKernel, Modules: modules, Processors: 1, Memory: 512 << 20,
		Interfaces: append([]driver.Interface{management}, l.machine.free...), Files: l.machineFiles(s, address),
	})
	t.Cleanup(func() {
		if err := m.Restore(context.Background()); err != nil {
			t.Errorf("ending the machine: %v", err)
		}
	})
	l.must(m.Prepare(t.Context()))
	l.output(exec.Command("ip", "address", "add", managementHere+"/30", "dev", management.TAP))
	_, err := m.Run(t.Context(), fmt.Sprintf(`set -e
cp %[1]s/passwd %[1]s/shadow /etc
mkdir -p -m 755 /run/sshd
sysctl -qw net.ipv4.ip_forward=1
ip address add %[2]s/30 dev management
LD_LIBRARY_PATH=%[3]s setsid %[4]s -D -e -f %[1]s/config > /run/sshd.log 2>&1 &
`, driver.Share, managementThere, s.libraries, s.program))
	l.must(err)
	l.awaitMachine(address, m)
	return l
}

// machineFiles are the files of OpenSSH in a machine.
func (d *device) machineFiles(s server, address string) map[string][]byte {
	d.t.Helper()
	folder, files := d.t.TempDir(), map[string][]byte{}
	d.writeConfig(s, address, `sh -c "$SSH_ORIGINAL_COMMAND"`, folder, driver.Share)
	entries, err := os.ReadDir(folder)
	d.must(err)
	for _, e := range entries {
		files[e.Name()], err = os.ReadFile(filepath.Join(folder, e.Name()))
		d.must(err)
	}
	return files
}

func (d *device) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// awaitMachine connects to OpenSSH in the machine.
func (d *device) awaitMachine(address string, m *driver.Machine) {
	d.t.Helper()
	access := d.Access()
	access.Address, access.Timeout = address, time.Minute
	ctx, cancel := context.WithCancel(context.Background())
	d.t.Cleanup(cancel)
	for deadline := time.Now().Add(answersWithin); ; time.Sleep(200 * time.Millisecond) {
		var err error
		if d.machine.client, err = access.Connect(ctx); err == nil {
			d.Address = address
			return
		}
		if time.Now().After(deadline) || errors.Is(err, configure.ErrRefused) {
			log, _ := m.Run(ctx, "cat /run/sshd.log")
			d.t.Fatalf("the machine does not answer: %v: %s", err, log)
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
	d.output(exec.Command("ip", "link", "set", p.TAP, "down"))
	d.output(exec.Command("ip", "link", "set", p.TAP, "name", here))
	d.runInMachine([]string{"sh", "-c", fmt.Sprintf("ip link set %[1]s down && ip link set %[1]s name %[2]s && ip link set %[2]s up", p.Name, there)})
	d.machine.cabled[here] = there
}

// runInMachine runs a program in the machine, which must succeed, and returns what it prints.
func (d *device) runInMachine(args []string) string {
	d.t.Helper()
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = driver.Quote(a)
	}
	out, problems, err := sshaccess.Run(d.machine.client, strings.Join(quoted, " "), "")
	if err != nil {
		d.t.Fatalf("%q: %v: %s", args, err, problems)
	}
	return out
}
