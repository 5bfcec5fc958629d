package machine

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"nodrop.dev/nodrop/internal/testkit/kubetest"
	"nodrop.dev/nodrop/internal/testkit/namespacetest"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// kernelsDir returns the directory with kernels; it skips the test without one, or without QEMU.
func kernelsDir(t *testing.T) string {
	t.Helper()
	testserver.Installed(t, "qemu-system-x86_64", "QEMU", "hack/vm/install")
	return filepath.Dir(filepath.Dir(testserver.Cached(t, "vm/debian13/release", "kernel of an emulated machine", "hack/vm/prepare debian13")))
}

// prepared starts a machine with two interfaces in a network namespace of the test.
func prepared(t *testing.T, modules ...string) *Machine {
	t.Helper()
	namespacetest.Enter(t)
	m := New(Config{
		Dir: kernelsDir(t), Kernel: "debian13", Modules: modules, Processors: 1, Memory: 512 << 20,
		Interfaces: []Interface{{"nd-m1", "e1"}, {"nd-m2", "e2"}},
		Files:      map[string][]byte{"hello": []byte("from here\n")},
	})
	t.Cleanup(func() {
		if err := m.Restore(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := m.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMachine starts one machine, runs and configures it, and expects that nothing of it is left.
func TestMachine(t *testing.T) {
	t.Parallel() // It waits for its machine.
	m := prepared(t, "mpls_iptunnel")
	if d := m.Describe(); !strings.Contains(d, "kernel debian13 ("+m.Release()+")") || !strings.Contains(d, "1 processor") {
		t.Errorf("it describes itself as %q", d)
	}
	out, err := m.Run(t.Context(), "uname -r; cat "+Share+"/hello; ls -d /sys/class/net/e1 /sys/class/net/e2; cat /sys/class/net/e1/mtu")
	if want := m.Release() + "\nfrom here\n/sys/class/net/e1\n/sys/class/net/e2\n9198\n"; err != nil || out != want {
		t.Errorf("%q, %v, want %q", out, err, want)
	}
	m.configures(t)
	m.forgets(t)
	m.staysReadOnly(t)

	folder, pid := m.folder.Path, m.process.cmd.Process.Pid
	for range 2 {
		if err := m.Restore(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{folder, fmt.Sprintf("/proc/%d", pid)} {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
	if link, err := netlink.LinkByName("nd-m1"); err == nil {
		t.Errorf("interface %v is left", link)
	}
	if _, err := m.Run(t.Context(), "true"); err == nil {
		t.Error("a machine that has ended ran a script")
	}
}

// configures expects that a configuration is in the machine, and that the message about one that fails names the line.
func (m *Machine) configures(t *testing.T) {
	t.Helper()
	if err := m.ConfigureWith(t.Context(), "sysctl -qw net.mpls.platform_labels=100\nip -f mpls route add 16 dev lo\nip link add bond0 type bond\nip link set e1 down\nip link set e1 master bond0\nip link set e2 name other address 02:00:00:00:00:02\nsleep 600 &\n"); err != nil {
		t.Fatal(err)
	}
	out, err := m.Run(t.Context(), "ip -n device -f mpls route; ip -n device -o link show master bond0; cat /sys/class/net/e1/mtu")
	if err == nil || !strings.Contains(out, "16 dev lo") || !strings.Contains(out, "e1:") {
		t.Errorf("%q, %v", out, err)
	}
	err = m.ConfigureWith(t.Context(), "true\n\nip link set nothing up\ntrue\n")
	if err == nil || !strings.Contains(err.Error(), "line 3: ip link set nothing up: exit code 1") || !strings.Contains(err.Error(), "Cannot find device") {
		t.Errorf("the message about a command that fails: %v", err)
	}
}

// forgets expects that nothing of a configuration is left after the next one.
func (m *Machine) forgets(t *testing.T) {
	t.Helper()
	if err := m.ConfigureWith(t.Context(), "ip -o link\nip -f mpls route\n[ -z \"$(ip -f mpls route)\" ]\n[ -e /proc/sys/net/ipv4/conf/e1 ]\n[ -e /proc/sys/net/ipv4/conf/e2 ]\n[ ! -e /proc/sys/net/ipv4/conf/bond0 ]\nip -o link show e2 | grep -q "+hardwareAddress(1)); err != nil {
		t.Error(err)
	}
}

// staysReadOnly expects that the machine does not change files of this computer.
func (m *Machine) staysReadOnly(t *testing.T) {
	t.Helper()
	file := filepath.Join(kubetest.Root(t), "nd-machine-was-here")
	if _, err := m.Run(t.Context(), "echo here > "+file); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the machine has made %s: %v", file, err)
		_ = os.Remove(file)
	}
}

// TestMachineEndsEarly expects the end of the console of a machine that ends by itself, and that no wait goes on.
func TestMachineEndsEarly(t *testing.T) {
	t.Parallel() // It waits for its machine.
	m := prepared(t)
	broken := make(chan error, 1)
	go func() { broken <- m.Broken(t.Context()) }()
	_, err := m.Run(t.Context(), "echo nodrop-was-here > /dev/kmsg; echo c > /proc/sysrq-trigger; sleep 600")
	for _, err := range []error{err, <-broken} {
		if err == nil || !strings.Contains(err.Error(), "the machine ended") || !strings.Contains(err.Error(), "sysrq triggered crash") {
			t.Errorf("the error of a machine that crashed: %v", err)
		}
	}
	// A wait ends with its context.
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := m.ConfigureWith(ctx, "sleep 600"); err == nil {
		t.Error("a machine that has ended was configured")
	}
}

// TestMachineDoesNotStart expects messages about machines that cannot start, and that nothing is left.
func TestMachineDoesNotStart(t *testing.T) {
	namespacetest.Enter(t)
	dir := kernelsDir(t)
	before := folders(t)
	for name, c := range map[string]struct {
		change func(*Machine)
		want   string
	}{
		"no kernel":            {func(m *Machine) { m.config.Kernel = "plan9" }, `contains no kernel "plan9", only `},
		"no module":            {func(m *Machine) { m.config.Modules = []string{"warp_drive"} }, `has no module "warp_drive"`},
		"two TAPs of one name": {func(m *Machine) { m.config.Interfaces[1].TAP = "nd-m1" }, "the machine ended"},
		"hangs":                {func(m *Machine) { m.boot = time.Millisecond }, "start 3 of 3: the machine was not ready after 1ms"},
	} {
		t.Run(name, func(t *testing.T) {
			namespacetest.Enter(t)
			m := New(Config{Dir: dir, Kernel: "debian13", Processors: 1, Memory: 256 << 20, Interfaces: []Interface{{"nd-m1", "e1"}, {"nd-m2", "e2"}}})
			c.change(m)
			err := m.Prepare(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if link, err := netlink.LinkByName("nd-m1"); err == nil {
				t.Errorf("interface %v is left", link)
			}
		})
	}
	for _, folder := range folders(t) {
		if !slices.Contains(before, folder) {
			t.Errorf("folder %s is left", folder)
		}
	}
}

// folders are the folders of machines on this computer.
func folders(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("/run/nodrop/" + folderPrefix + "*")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestLook checks what is said about computers that lack something.
func TestLook(t *testing.T) {
	empty := t.TempDir()
	part := t.TempDir()
	if err := os.MkdirAll(filepath.Join(part, "debian13"), 0o755); err != nil {
		t.Fatal(err)
	}
	whole := kernelOf(t, "one")
	for name, c := range map[string]struct {
		dir, kernel string
		modules     []string
		want        string
	}{
		"not set":        {"", "one", nil, "directory with kernels: $NODROP_MACHINES is not set"},
		"no directory":   {filepath.Join(empty, "none"), "one", nil, "directory with kernels: $NODROP_MACHINES: open " + empty + "/none: no such file or directory"},
		"empty":          {empty, "one", nil, "kernel: " + empty + " contains no kernel"},
		"part":           {part, "debian13", nil, "kernel: " + part + " contains no kernel"},
		"another kernel": {whole, "two", nil, "kernel: " + whole + ` contains no kernel "two", only one`},
		"any kernel":     {whole, "", nil, ""},
		"module":         {whole, "one", []string{"a-module", "built_in"}, ""},
		"no module":      {whole, "one", []string{"a_module", "b_module"}, `modules: the kernel one (6.0-test) has no module "b_module"`},
	} {
		t.Run(name, func(t *testing.T) {
			all := slices.DeleteFunc(Look(c.dir, c.kernel, c.modules), func(f Finding) bool {
				return !slices.Contains([]string{"directory with kernels", "kernel", "modules"}, f.Check)
			})
			got := ""
			if err := Refusal(all); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			for _, f := range all {
				if f.Missing && f.Advice == "" {
					t.Errorf("%+v has no remedy", f)
				}
			}
		})
	}
	t.Setenv("PATH", empty)
	if err := Refusal(Look(whole, "one", nil)); err == nil || err.Error() != "QEMU: qemu-system-x86_64 is not in PATH" {
		t.Errorf("without QEMU: %v", err)
	}
}

// kernelOf makes a directory with a kernel of this name.
func kernelOf(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	for file, text := range map[string]string{
		"release": "6.0-test\n", "vmlinuz": "", "image.gz": "",
		"modules/6.0-test/modules.dep":     "kernel/net/a_module.ko.xz: kernel/net/other.ko.xz\n",
		"modules/6.0-test/modules.builtin": "kernel/net/built-in.ko\n",
	} {
		path := filepath.Join(dir, name, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestQuote has bash read quoted words.
func TestQuote(t *testing.T) {
	for _, word := range []string{"e1", "a b", "it's", "$(id)", "`id`", `\`} {
		out, err := exec.Command("bash", "-c", "printf %s "+Quote(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q is %q: %v", word, out, err)
		}
	}
}
