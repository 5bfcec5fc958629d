package main

import (
	"bufio"
	"embed"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

//go:embed manifests/*.yaml
var manifests embed.FS

// up starts the cluster, unless it is up, and returns when pods can run in it.
func (c *cluster) up() error {
	start := time.Now()
	done := func(step string) { fmt.Printf("  %5.1f s  %s\n", time.Since(start).Seconds(), step) }
	if old, err := c.state.readRecord(); err != nil {
		return err
	} else if old != nil && old.Init.running() {
		done("is up already")
		return c.ready(done)
	}
	// After a reboot, or an "up" that failed: start from nothing.
	if err := c.down(); err != nil {
		return fmt.Errorf("removing what an earlier cluster left: %w", err)
	}
	r, err := c.prepare()
	if err != nil {
		return fmt.Errorf("preparing the cluster: %w", err)
	}
	if err := c.startInit(r, done); err != nil {
		return fmt.Errorf("starting the node: %w\nlook into %s", err, c.state.file("log"))
	}
	return c.ready(done)
}

// prepare makes all files, folders and cgroups that the node needs, and the
// record of how the machine was before.
func (c *cluster) prepare() (*record, error) {
	r := &record{}
	if err := os.MkdirAll(string(c.state), 0o755); err != nil {
		return nil, err
	}
	var err error
	if r.Interfaces, r.Entries, err = inventory(); err != nil {
		return nil, err
	}
	if r.Preferred, err = softInterrupts(); err != nil {
		return nil, err
	}
	// From here on "down" can undo what was done.
	if err := c.state.writeRecord(r); err != nil {
		return nil, err
	}
	if err := prefer(r.Preferred); err != nil {
		return nil, err
	}
	for _, dir := range c.state.dirs() {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	if err := writePKI(c.state.file("pki")); err != nil {
		return nil, err
	}
	if err := (settings{cache: c.cache, state: c.state, group: c.group}).write(); err != nil {
		return nil, err
	}
	return r, c.group.make()
}

// startInit starts process 1 of the node and waits until the API answers.
func (c *cluster) startInit(r *record, done func(string)) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	progress, report, err := os.Pipe()
	if err != nil {
		return err
	}
	defer progress.Close()
	log, err := os.Create(c.state.file("log", "init.log"))
	if err != nil {
		return err
	}
	defer log.Close()

	init := exec.Command(self, "init")
	init.Stdout, init.Stderr = log, log
	init.ExtraFiles = []*os.File{report} // becomes progressFile
	init.SysProcAttr = &syscall.SysProcAttr{
		Setsid: true, // a signal to this terminal is not for the node
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET |
			syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
	}
	if err := init.Start(); err != nil {
		return err
	}
	report.Close()
	if r.Init, err = findProcess(init.Process.Pid); err != nil {
		return err
	}
	if r.Namespaces, err = namespaces(init.Process.Pid); err != nil {
		return err
	}
	if err := c.state.writeRecord(r); err != nil {
		return err
	}
	if err := c.writeCommands(r.Init.PID); err != nil {
		return err
	}
	last := ""
	for lines := bufio.NewScanner(progress); lines.Scan(); {
		last = lines.Text()
		done(last)
	}
	if last != "Kubernetes API" {
		message, _ := os.ReadFile(c.state.file("log", "init.log"))
		return fmt.Errorf("it stopped after %q: %s", last, message)
	}
	return init.Process.Release()
}

// ready is settle with a remedy where it fails.
func (c *cluster) ready(done func(string)) error {
	if err := c.settle(done); err != nil {
		return fmt.Errorf("%w\nlook into %s; \"make cluster-down\" removes the cluster", err, c.state.file("log"))
	}
	return nil
}

// settle brings in the images and waits until the node takes pods.
func (c *cluster) settle(done func(string)) error {
	if err := c.loadFolder("node", done); err != nil {
		return err
	}
	for _, name := range []string{"manifests/multus.yaml"} {
		content, err := manifests.ReadFile(name)
		if err != nil {
			return err
		}
		apply := c.inNode("kubectl", "apply", "--server-side", "-f", "-")
		apply.Stdin = strings.NewReader(string(content))
		if err := quietly(apply); err != nil {
			return err
		}
	}
	for _, wait := range [][]string{
		{"--for=condition=Established", "crd/network-attachment-definitions.k8s.cni.cncf.io"},
		{"--for=create", "node/" + nodeName},
		{"--for=condition=Ready", "node/" + nodeName},
		{"--for=create", "--namespace=default", "serviceaccount/default"},
	} {
		if err := quietly(c.inNode("kubectl", append([]string{"wait", "--timeout=90s"}, wait...)...)); err != nil {
			return err
		}
	}
	done("node ready")
	if err := c.loadFolder("docker", done); err != nil {
		return err
	}
	return nil
}

// inNode makes a command that runs inside the node.
func (c *cluster) inNode(name string, args ...string) *exec.Cmd {
	return exec.Command(c.state.file("bin", "in-node"), append([]string{name}, args...)...)
}

// quietly runs a command and shows what it printed only if it failed.
func quietly(command *exec.Cmd) error {
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(command.Args[1:], " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// writeCommands writes bin/in-node, which runs any command in the node, and
// small scripts that run one certain command there: put bin/ into PATH and
// kubectl is this cluster's.
func (c *cluster) writeCommands(init int) error {
	env := c.environment()
	for i, pair := range env {
		env[i] = "'" + strings.ReplaceAll(pair, "'", `'\''`) + "'"
	}
	inNode := fmt.Sprintf("#!/bin/sh\nexec nsenter --target %d --mount --net --uts --ipc --pid --wdns=\"$PWD\" env %s \"$@\"\n",
		init, strings.Join(env, " "))
	scripts := map[string]string{"in-node": inNode}
	for _, name := range []string{"kubectl", "helm", "ctr", "docker"} {
		scripts[name] = fmt.Sprintf("#!/bin/sh\nexec '%s' %s \"$@\"\n", c.state.file("bin", "in-node"), name)
	}
	for name, content := range scripts {
		if err := os.WriteFile(c.state.file("bin", name), []byte(content), 0o755); err != nil {
			return fmt.Errorf("writing the cluster's commands: %w", err)
		}
	}
	return nil
}
