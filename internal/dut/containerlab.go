package dut

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/base/netif"
	"nodrop.dev/nodrop/internal/dut/device"
)

// askEvery is the interval at which a container that is still starting is checked.
const askEvery = 250 * time.Millisecond

// Containerlab is a device in a containerlab topology. containerlab needs root,
// the container runtime's socket, and the host's network namespace.
type Containerlab struct {
	// Binary is containerlab's program; empty means the one in PATH.
	Binary string
	// Topology is the path of the topology file. The files next to it belong to it.
	Topology string
	// Node of the topology that is the device under test.
	Node string
	// Dir is the directory to which the topology is copied before use, in a subdirectory
	// with its name. The container runtime resolves paths of the topology on the host, so
	// in a pod Dir is mounted from the host at the same path. Empty uses the files where
	// they are.
	Dir string
	// Files makes further files of the topology from its text and the interfaces of the
	// device, by those of the host at their other end. A file that the topology has stays.
	// It needs Dir; nil makes none.
	Files func(topology string, interfaces map[string]string) (map[string][]byte, error)
	// Configuration contains the configuration that the node gets when the topology has started; nil leaves the node as the topology starts it.
	Configuration *device.Node
	// Output gets what containerlab prints; nil discards it.
	Output io.Writer
	// namespaces has a link to the network namespace of every node that this process
	// started; empty means where containerlab makes them.
	namespaces string
	// configured describes how the node got its configuration; nil before.
	configured *v1alpha1.DeviceConfiguration
}

var (
	_ device.Driver = (*Containerlab)(nil)
	_ device.Placed = (*Containerlab)(nil)
)

// Describe names the node and the topology's file.
func (c *Containerlab) Describe() string {
	return fmt.Sprintf("containerlab node %s of %s", c.Node, filepath.Base(c.Topology))
}

// Capabilities implements device.Driver.
func (c *Containerlab) Capabilities() device.Capabilities {
	return device.Of(v1alpha1.Device{Containerlab: &v1alpha1.ContainerlabDevice{}})
}

// Prepare deploys the topology anew and returns once the device's container runs and
// the links' ends on the host have a carrier.
func (c *Containerlab) Prepare(ctx context.Context) error {
	t, path, err := c.files()
	if err != nil {
		return err
	}
	container, err := t.container(c.Node)
	if err != nil {
		return err
	}
	if err := c.makeFiles(t, path); err != nil {
		return err
	}
	if _, err := c.run(ctx, path, "deploy", "--reconfigure", "--topo", path); err != nil {
		return err
	}
	if err := netif.Wait(ctx, t.hostEnds(), netif.Running); err != nil {
		return fmt.Errorf("the links of topology %s: %w", t.Name, err)
	}
	return c.waitRunning(ctx, path, t.Name, container)
}

// Configure gives the node its configuration, if it has one beyond the topology.
func (c *Containerlab) Configure(ctx context.Context) error {
	if c.Configuration == nil {
		return nil
	}
	if err := c.configureNode(ctx); err != nil {
		return fmt.Errorf("configuring node %s: %w", c.Node, err)
	}
	return nil
}

// Configured describes how the node got its configuration; nil for a node that is as the topology starts it.
func (c *Containerlab) Configured() *v1alpha1.DeviceConfiguration { return c.configured }

// Reset implements device.Driver.
func (c *Containerlab) Reset(context.Context) error { return device.CannotReset(c.Capabilities()) }

// Restore destroys the topology. It succeeds when nothing is there, and clears up
// after a deployment that ended half way.
func (c *Containerlab) Restore(ctx context.Context) error {
	t, path, err := c.files()
	if err != nil {
		return err
	}
	if _, err := c.run(ctx, path, "destroy", "--cleanup", "--topo", path); err != nil {
		return err
	}
	// A link whose node never came to be has both ends on the host.
	for _, name := range t.hostEnds() {
		link, err := netlink.LinkByName(name)
		if err != nil || link.Type() != "veth" {
			continue
		}
		if err := netlink.LinkDel(link); err != nil && !errors.Is(err, unix.ENODEV) {
			return fmt.Errorf("removing interface %s: %w", name, err)
		}
	}
	left, err := c.inspect(ctx, path, t.Name)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("containerlab destroyed topology %s, but container %s is still %s", t.Name, left[0].Name, left[0].State)
	}
	// Not the runtime's own network, which a topology may use as well.
	if name := t.management(); name != "bridge" {
		if err := removeManagement(ctx, name); err != nil {
			return err
		}
	}
	if c.Dir != "" {
		if err := os.RemoveAll(filepath.Dir(path)); err != nil {
			return fmt.Errorf("removing the copy of the topology: %w", err)
		}
	}
	return nil
}

// makeFiles writes the further files next to the copy of the topology.
func (c *Containerlab) makeFiles(t *topology, path string) error {
	if c.Files == nil || c.Dir == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the topology: %w", err)
	}
	files, err := c.Files(string(text), t.interfaces(c.Node))
	if err != nil {
		return err
	}
	for name, content := range files {
		if _, err := os.Stat(filepath.Join(filepath.Dir(c.Topology), name)); err == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), name), content, 0o644); err != nil {
			return fmt.Errorf("writing the device's configuration: %w", err)
		}
	}
	return nil
}

func (c *Containerlab) files() (*topology, string, error) {
	t, err := readTopology(c.Topology)
	if err != nil {
		return nil, "", err
	}
	path, err := filepath.Abs(c.Topology)
	if err == nil && c.Dir != "" {
		path, err = copyFiles(c.Topology, filepath.Join(c.Dir, t.Name))
	}
	return t, path, err
}

// state is one container as containerlab sees it.
type state struct {
	Name   string `json:"name"`
	State  string `json:"state"`
	Status string `json:"status"`
}

func (c *Containerlab) waitRunning(ctx context.Context, path, lab, container string) error {
	ticker := time.NewTicker(askEvery)
	defer ticker.Stop()
	last := "it does not exist"
	for {
		all, err := c.inspect(ctx, path, lab)
		if err != nil {
			return err
		}
		for _, s := range all {
			if s.Name != container {
				continue
			}
			last = fmt.Sprintf("it is %s (%s)", s.State, s.Status)
			switch {
			case s.State == "exited" || s.State == "dead" || s.Status == "unhealthy":
				return fmt.Errorf("the device's container %s does not run: %s: look at its log", container, last)
			case s.State == "running" && !strings.Contains(s.Status, "starting"):
				return nil
			}
		}
		// containerlab sends no notification when a container changes.
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the device's container %s: %s: %w", container, last, ctx.Err())
		}
	}
}

func (c *Containerlab) inspect(ctx context.Context, path, lab string) ([]state, error) {
	out, err := c.run(ctx, path, "inspect", "--format", "json", "--name", lab)
	if err != nil {
		return nil, err
	}
	labs := map[string][]state{}
	if err := json.Unmarshal(out, &labs); err != nil {
		return nil, fmt.Errorf("reading what containerlab inspect printed: %w: %.200s", err, out)
	}
	return labs[lab], nil
}

// run executes containerlab next to the topology and returns what it printed to
// its standard output. Its errors carry the last lines of both outputs.
func (c *Containerlab) run(ctx context.Context, path string, args ...string) ([]byte, error) {
	binary := c.Binary
	if binary == "" {
		binary = "containerlab"
	}
	var out bytes.Buffer
	all := &output{log: c.Output}
	if all.log == nil {
		all.log = io.Discard
	}
	command := exec.CommandContext(ctx, binary, args...)
	command.Dir = filepath.Dir(path)
	command.Env = append(os.Environ(), "CLAB_VERSION_CHECK=disable")
	// One pipe for both keeps their lines in order.
	command.Stdout, command.Stderr = all, all
	if args[0] == "inspect" {
		all.log = io.Discard
		command.Stdout = io.MultiWriter(&out, all)
	}
	// It is given the time to clear up what it has begun.
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 10 * time.Second
	if err := command.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, fmt.Errorf("containerlab %s: %w%s", args[0], err, human.LastLines(all.text.String(), 8))
	}
	return out.Bytes(), nil
}

// output collects what a program prints to both of its outputs, in its order.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	log  io.Writer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	return o.log.Write(p)
}
