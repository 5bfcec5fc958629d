//go:build linux

package router

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/vishvananda/netns"

	"nodrop.dev/nodrop/internal/base/netif"
)

// nextToBGP are the daemons of FRR that run next to bgpd, in the order of their start. Each
// has a configuration file of its own, and runs as the user of zebra in the folder of that.
var nextToBGP = []string{bfdd, pimd, ldpd}

// frrDaemons are the processes of FRR for the parts of a configuration, with their files.
// That of bgpd, if there is one, is the last.
func frrDaemons(folder, file string, parts map[string]string) ([]program, error) {
	programs, err := programsOf(FRR, folder, file)
	if err != nil {
		return nil, err
	}
	if parts[bgpd] == "" {
		programs = programs[:1] // zebra
	}
	for i, name := range nextToBGP {
		if parts[name] == "" {
			continue
		}
		p, err := frrDaemon(folder, name, parts[name])
		if err != nil {
			return nil, err
		}
		programs = slices.Insert(programs, min(i+1, len(programs)), p)
	}
	return programs, nil
}

// frrDaemon is a daemon next to bgpd, whose configuration is written and read by it once.
func frrDaemon(folder, name, config string) (program, error) {
	path := frrPrograms + name
	if _, err := os.Stat(path); err != nil {
		return program{}, &MissingError{path, "frr"}
	}
	own := filepath.Join(folder, zebraFolder)
	file := filepath.Join(own, name+".conf")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		return program{}, err
	}
	command := []string{
		path, "-P", "0", "-z", filepath.Join(own, "zserv"), "-i", filepath.Join(own, name+".pid"),
		"--vty_socket", own, "--log", "stdout", "--log-level", "warnings", "-f", file,
	}
	switch name {
	case bfdd:
		command = append(command, "--bfdctl", filepath.Join(own, "bfdd.sock"))
	case ldpd:
		command = append(command, "--ctl_socket", own)
	}
	p := program{command: append(command, zebraUser()...), ready: filepath.Join(own, name+".vty")}
	if name == pimd {
		p.also = func(ctx context.Context, ns netns.NsHandle) error {
			return awaitMulticast(ctx, ns, interfacesOf(config))
		}
	}
	return p, nil
}

// interfacesOf are the interfaces that a configuration of pimd names.
func interfacesOf(config string) []string {
	var names []string
	for line := range strings.Lines(config) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "interface "); ok {
			names = append(names, name)
		}
	}
	return names
}

// awaitMulticast waits until the kernel routes multicast between interfaces of a network
// namespace: from then on pimd hears the reports of members.
func awaitMulticast(ctx context.Context, ns netns.NsHandle, names []string) error {
	for {
		var text []byte
		err := netif.In(ns, func() (err error) {
			text, err = os.ReadFile("/proc/thread-self/net/ip_mr_vif")
			return err
		})
		if err != nil {
			return fmt.Errorf("looking at the interfaces of multicast routing: %w", err)
		}
		words := strings.Fields(string(text))
		missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(words, name) })
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("pimd does not route multicast on %s: the interface has to be there with an IPv4 address, and the kernel routes between 32 interfaces at most", strings.Join(missing, ", "))
		case <-time.After(time.Millisecond):
		}
	}
}
