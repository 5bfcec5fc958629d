package containertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// OwnFiles covers files of the machine that programs next to the daemon write, such as containerlab: what they write goes with the daemon.
func (d *Docker) OwnFiles() {
	d.t.Helper()
	hosts := filepath.Join(d.t.TempDir(), "hosts")
	if err := os.WriteFile(hosts, nil, 0o600); err != nil {
		d.t.Fatal(err)
	}
	const cover = `mount -t tmpfs tmpfs /run && mkdir /run/netns && mount --bind "$1" /etc/hosts && { [ ! -d /etc/ssh ] || mount -t tmpfs tmpfs /etc/ssh; }`
	if out, err := d.HostCommand("sh", "-c", cover, "cover", hosts).CombinedOutput(); err != nil {
		d.t.Fatalf("covering files of the machine: %v: %s", err, out)
	}
}

// HostCommand returns a command that runs in the namespaces of the daemon, as a program of its host does.
func (d *Docker) HostCommand(program string, args ...string) *exec.Cmd {
	d.t.Helper()
	child, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", d.pid, d.pid))
	if err != nil {
		d.t.Fatal(err)
	}
	cmd := exec.Command("nsenter", append([]string{"--target", strings.TrimSpace(string(child)), "--net", "--mount", "--pid", "--", program}, args...)...)
	cmd.Env = append(os.Environ(), "DOCKER_HOST=unix://"+d.Socket, "HOME="+d.t.TempDir())
	return cmd
}

// Containers returns the names of all containers.
func (d *Docker) Containers() []string {
	d.t.Helper()
	return strings.Fields(d.run("ps", "--all", "--format", "{{.Names}}"))
}

// Exec runs a program in a container that another program has started, and returns what it prints.
func (d *Docker) Exec(name string, program ...string) string {
	d.t.Helper()
	return (&Container{name, d}).Exec(program...)
}
