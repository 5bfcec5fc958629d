package containertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// Docker is a daemon with namespaces of its own: nothing of it is left on the machine.
type Docker struct {
	// Socket is the path at which it answers.
	Socket string

	t           testing.TB
	program     string
	environment []string
	// pid is the process whose only child is the daemon, in namespaces of its own.
	pid int
}

// Image is FRR from Debian's packages, as in devices of containerlab.
const Image = "localhost/nodrop-frr:8.4"

// Start starts a daemon with the image, until the test ends. It skips the test without the rights for that.
func Start(t testing.TB) *Docker {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may start Docker")
	}
	const build = "hack/cluster/build"
	daemon := testserver.Cached(t, "docker/usr/sbin/dockerd", "Docker", build)
	runc := testserver.Cached(t, "bin/runc-caps", "container runtime", build)
	containerd := testserver.Cached(t, "runtime/bin/containerd", "containerd", build)
	image := testserver.Cached(t, "images/docker/frr.tar", "FRR image", build)
	root := strings.TrimSuffix(daemon, "/usr/sbin/dockerd")
	folder, err := os.MkdirTemp("", "nodrop-docker-") // A socket may not have a long path.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	libraries, _ := filepath.Glob(filepath.Join(root, "*/*-linux-gnu"))
	more, _ := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-gnu"))
	d := &Docker{Socket: filepath.Join(folder, "docker.sock"), t: t, program: filepath.Join(root, "usr/bin/docker")}
	d.environment = append(os.Environ(), "DOCKER_HOST=unix://"+d.Socket,
		"PATH="+strings.Join([]string{filepath.Dir(daemon), filepath.Dir(containerd), filepath.Dir(runc), os.Getenv("PATH")}, ":"),
		"LD_LIBRARY_PATH="+strings.Join(append(libraries, more...), ":"))
	groups := fmt.Sprintf("nodrop-docker-%d", os.Getpid())
	config, err := json.Marshal(map[string]any{
		"hosts": []string{"unix://" + d.Socket}, "data-root": filepath.Join(folder, "root"), "exec-root": filepath.Join(folder, "exec"),
		"pidfile": filepath.Join(folder, "pid"), "deprecated-key-path": filepath.Join(folder, "key.json"), "storage-driver": "overlay2",
		"bridge": "none", "iptables": false, "ip6tables": false, "ip-forward": false, "userland-proxy": false,
		"exec-opts": []string{"native.cgroupdriver=cgroupfs"}, "cgroup-parent": "/" + groups, "default-runtime": "nodrop",
		"runtimes": map[string]any{"nodrop": map[string]any{"path": runc}},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "config.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeGroups(groups) })
	d.launch(daemon, file, filepath.Join(folder, "log"))
	d.run("load", "--input", image)
	return d
}

// launch starts the daemon, and waits until it answers.
func (d *Docker) launch(daemon, config, log string) {
	d.t.Helper()
	file, err := os.Create(log)
	if err != nil {
		d.t.Fatal(err)
	}
	cmd := exec.Command("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", daemon, "--config-file", config)
	cmd.Env, cmd.Stdout, cmd.Stderr = d.environment, file, file
	ended, err := testserver.Launch(cmd)
	if err != nil {
		d.t.Fatal(err)
	}
	d.pid = cmd.Process.Pid
	d.t.Cleanup(func() {
		_ = cmd.Process.Kill() // And with it all in its namespace of processes: the daemon and the containers.
		<-ended
		_ = file.Close()
		if d.t.Failed() {
			text, _ := os.ReadFile(log)
			d.t.Logf("Docker: %s", text[max(0, len(text)-4000):])
		}
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		out, err := d.command("version").CombinedOutput()
		if err == nil {
			return
		}
		select {
		case <-ended:
			deadline = time.Time{}
		default:
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(log)
			d.t.Fatalf("Docker does not answer: %v: %s\n%s", err, out, text)
		}
	}
}

// removeGroups removes the control groups of the containers, whose processes have ended.
func removeGroups(name string) {
	deadline := time.Now().Add(10 * time.Second)
	for _, pattern := range []string{name + "/*", name} {
		for _, above := range []string{"/sys/fs/cgroup/", "/sys/fs/cgroup/*/"} {
			found, _ := filepath.Glob(above + pattern)
			for _, group := range found {
				for errors.Is(syscall.Rmdir(group), syscall.EBUSY) && time.Now().Before(deadline) {
					time.Sleep(20 * time.Millisecond)
				}
			}
		}
	}
}

// command is a command of Docker's own client.
func (d *Docker) command(args ...string) *exec.Cmd {
	cmd := exec.Command(d.program, args...)
	cmd.Env = d.environment
	return cmd
}

// run runs a command of Docker's own client, which must succeed, and returns what it prints.
func (d *Docker) run(args ...string) string {
	d.t.Helper()
	out, err := d.command(args...).CombinedOutput()
	if err != nil {
		d.t.Fatalf("docker %q: %v: %s", args, err, out)
	}
	return string(out)
}

// Container runs on a Docker.
type Container struct {
	Name string
	d    *Docker
}

// Run starts a container with a network of its own. The arguments are of docker run, and its program is what the image names.
func (d *Docker) Run(name string, args ...string) *Container {
	d.t.Helper()
	return d.RunProgram(name, nil, args...)
}

// RunProgram is Run with another program.
func (d *Docker) RunProgram(name string, program []string, args ...string) *Container {
	d.t.Helper()
	d.run(slices.Concat([]string{"run", "--detach", "--privileged", "--network", "none", "--name", name}, args, []string{Image}, program)...)
	return &Container{name, d}
}

// Do has Docker's own client do something with the container, such as stop.
func (c *Container) Do(verb string) {
	c.d.t.Helper()
	c.d.run(verb, c.Name)
}

// Pause pauses the container until the returned function is called, or until the end of the test: no process of a paused container ends.
func (c *Container) Pause() (resume func()) {
	c.d.t.Helper()
	c.Do("pause")
	resume = sync.OnceFunc(func() { c.Do("unpause") })
	c.d.t.Cleanup(resume)
	return resume
}

// Exec runs a program in the container, and returns what it prints.
func (c *Container) Exec(args ...string) string {
	c.d.t.Helper()
	return c.d.run(append([]string{"exec", c.Name}, args...)...)
}

// ExecWith is Exec of a program that reads an input.
func (c *Container) ExecWith(input string, args ...string) string {
	c.d.t.Helper()
	cmd := c.d.command(append([]string{"exec", "--interactive", c.Name}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.d.t.Fatalf("%q: %v: %s", args, err, out)
	}
	return string(out)
}

// Router starts a container with FRR, with an interface, a route and a neighbor.
func (d *Docker) Router(name string) *Container {
	d.t.Helper()
	c := d.Run(name, "--env", "FRR_DAEMONS=bgpd")
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		out, err := d.command("exec", name, "sh", "-c", "vtysh -d zebra -c 'show version' && vtysh -d staticd -c 'show version' && vtysh -d bgpd -c 'show version'").CombinedOutput()
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			d.t.Fatalf("FRR does not answer: %v: %s", err, out)
		}
	}
	c.Exec("sh", "-c", "ip link add p1 type veth peer name p2; ip link set p1 up; ip link set p2 up")
	args := []string{"vtysh"}
	for _, line := range []string{"configure terminal", "hostname dut", "ip route 198.18.100.0/24 198.18.1.9", "interface p1", "ip address 198.18.1.1/24", "exit",
		"router bgp 65001", "no bgp ebgp-requires-policy", "neighbor 198.18.1.2 remote-as 65002"} {
		args = append(args, "-c", line)
	}
	c.Exec(args...)
	return c
}
