package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// progressFile is the descriptor on which "node init" reports to "node up" how far
// it is, one line per step; the end of the file means that no more will come.
const progressFile = 3

// init is process 1 of the node. It mounts the file systems and sets up the network of the namespaces that it was
// started in, then keeps the daemons running until it is killed.
func (c *cluster) init() error {
	if os.Getpid() != 1 {
		return fmt.Errorf("\"node init\" is started by \"node up\" only")
	}
	progress := os.NewFile(progressFile, "progress")
	report := func(line string) { _, _ = fmt.Fprintln(progress, line) }
	syscall.CloseOnExec(progressFile)
	if err := os.Setenv("PATH", c.searchPath()); err != nil {
		return err
	}
	if err := (mounts{state: c.state}).make(); err != nil {
		return fmt.Errorf("mounting the node's file systems: %w", err)
	}
	report("namespaces")
	if err := setUpNetwork(); err != nil {
		return fmt.Errorf("setting up the node's network: %w", err)
	}
	s := newSupervisor(c.state.file("log"), c.environment())
	for _, d := range firstDaemons(c.state) {
		if err := s.run(d); err != nil {
			return err
		}
	}
	if err := awaitAPIServer(c.state); err != nil {
		return err
	}
	report("Kubernetes API")
	for _, d := range laterDaemons(c.state) {
		if err := s.run(d); err != nil {
			return err
		}
	}
	if err := progress.Close(); err != nil {
		return err
	}
	select {} // until killed; the supervisor works on
}

// setUpNetwork assigns the node an address on a dummy link: there is
// no way out of the node, and none in.
func setUpNetwork() error {
	for _, line := range []string{
		"link set lo up",
		"link add node0 type veth peer name node0-end", // a pair, so that the link is up
		"address add " + nodeIP + "/24 dev node0",
		"link set node0 up",
		"link set node0-end up",
		// kube-proxy rewrites Service addresses after routing: they need a route.
		"route add " + serviceRange + " dev node0",
	} {
		if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", line, err, out)
		}
	}
	for name, value := range map[string]string{
		"ipv4/ip_forward": "1", "ipv4/conf/all/rp_filter": "0", "ipv4/conf/default/rp_filter": "0",
	} {
		if err := os.WriteFile(filepath.Join("/proc/sys/net", name), []byte(value), 0o644); err != nil {
			return err
		}
	}
	return nil
}
