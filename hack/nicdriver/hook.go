package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

const (
	// cdiKind is the kind of the CDI devices that represent claims.
	cdiKind = "test.nodrop.dev/claim"
	// cdiFolder is the folder in which runtimes find CDI devices.
	cdiFolder = "/run/cdi"
	// heldFolder has a folder for each claim whose interface is in a pod, and in it a
	// file INTERFACE=NAME-IN-POD on which the pod's network namespace is mounted. So
	// the namespace outlives the pod until the interface is taken back: with it, a veth
	// would vanish.
	heldFolder = "/run/nicdriver"
	// hookCommand makes this program the hook.
	hookCommand = "hook"
)

func claimFolder(claim string) string { return filepath.Join(heldFolder, claim) }

func deviceFile(claim string) string { return filepath.Join(cdiFolder, "nicdriver-"+claim+".json") }

// writeDevice makes the CDI device that represents a claim: a hook that runs when
// a container with it has its namespaces and nothing in it runs yet.
func writeDevice(claim, nic, name string) (id string, _ error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	held := filepath.Join(claimFolder(claim), nic+"="+name)
	type object map[string]any
	text, err := json.Marshal(object{"cdiVersion": "0.6.0", "kind": cdiKind, "devices": []object{{
		"name": claim,
		"containerEdits": object{"hooks": []object{{
			"hookName": "createRuntime", "path": self, "args": []string{"nicdriver", hookCommand, nic, held},
		}}},
	}}})
	if err != nil {
		return "", fmt.Errorf("writing the CDI device: %w", err)
	}
	if err := os.MkdirAll(cdiFolder, 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(deviceFile(claim), text, 0o644); err != nil {
		return "", err
	}
	return cdiKind + "=" + claim, nil
}

func removeDevice(claim string) error {
	if err := os.Remove(deviceFile(claim)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// hook moves an interface into the network namespace of a container, whose state
// the runtime hands in, and holds that namespace.
func hook(state io.Reader, nic, held string) error {
	var container struct{ Pid int }
	if err := json.NewDecoder(state).Decode(&container); err != nil {
		return fmt.Errorf("reading the state of the container: %w", err)
	}
	pod, err := netns.GetFromPid(container.Pid)
	if err != nil {
		return fmt.Errorf("opening the pod's network namespace: %w", err)
	}
	defer pod.Close()
	if before, err := netns.GetFromPath(held); err == nil {
		same := before.Equal(pod)
		_ = before.Close()
		if same {
			return nil // a container of the pod has started again
		}
		// The pod has lost its network, and has another one now.
		if err := takeBack(filepath.Dir(held)); err != nil {
			return err
		}
	}
	node, err := netns.Get()
	if err != nil {
		return err
	}
	defer node.Close()
	if err := hold(container.Pid, held); err != nil {
		return fmt.Errorf("holding the pod's network namespace: %w", err)
	}
	_, name, _ := strings.Cut(filepath.Base(held), "=")
	if err := move(nic, node, name, pod); err != nil {
		return errors.Join(err, letGo(held))
	}
	return nil
}

// hold keeps the network namespace of a process alive.
func hold(pid int, held string) error {
	if err := os.MkdirAll(filepath.Dir(held), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(held, nil, 0o600); err != nil {
		return err
	}
	if err := unix.Mount(fmt.Sprintf("/proc/%d/ns/net", pid), held, "", unix.MS_BIND, ""); err != nil {
		return errors.Join(err, os.Remove(held))
	}
	return nil
}

func letGo(held string) error {
	if err := unix.Unmount(held, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("letting go of the pod's network namespace: %w", err)
	}
	return os.Remove(held)
}

// takeBack brings the interface of a claim back onto the node, under its name. Of a
// claim that no container has begun with, nothing is held.
func takeBack(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		return err
	}
	node, err := netns.Get()
	if err != nil {
		return err
	}
	defer node.Close()
	for _, held := range files {
		nic, name, _ := strings.Cut(filepath.Base(held), "=")
		pod, err := netns.GetFromPath(held)
		if err != nil {
			return err
		}
		err = move(name, pod, nic, node)
		if err := errors.Join(err, pod.Close()); err != nil {
			return fmt.Errorf("taking %s back: %w", nic, err)
		}
		if err := letGo(held); err != nil {
			return err
		}
	}
	if err := os.Remove(folder); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// move moves an interface into another network namespace, under another name. It
// is down there.
func move(name string, from netns.NsHandle, newName string, to netns.NsHandle) error {
	old, err := netlink.NewHandleAt(from, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer old.Close()
	link, err := old.LinkByName(name)
	if err != nil {
		return fmt.Errorf("finding interface %s: %w", name, err)
	}
	if err := old.LinkSetNsFd(link, int(to)); err != nil {
		return fmt.Errorf("moving interface %s: %w", name, err)
	}
	there, err := netlink.NewHandleAt(to, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer there.Close()
	if link, err = there.LinkByName(name); err != nil {
		return fmt.Errorf("finding interface %s after it was moved: %w", name, err)
	}
	if err := there.LinkSetName(link, newName); err != nil {
		return fmt.Errorf("naming interface %s %s: %w", name, newName, err)
	}
	return nil
}
