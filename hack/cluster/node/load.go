package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// load imports image archives into containerd, for pods.
func (c *cluster) load(files []string) error {
	if len(files) == 0 {
		return fmt.Errorf("no image archive named; usage: node load FILE")
	}
	r, err := c.state.readRecord()
	if err != nil {
		return err
	}
	if r == nil || !r.Init.running() {
		return fmt.Errorf("the cluster is not up; \"make cluster-up\" starts it")
	}
	for _, file := range files {
		if err := quietly(c.inNode("ctr", "--namespace=k8s.io", "images", "import", "--local", file)); err != nil {
			return err
		}
	}
	return nil
}

// loadFolder imports all archives that hack/cluster/build made for one runtime into
// it: "node" is containerd, "docker" is dockerd.
func (c *cluster) loadFolder(runtime string, done func(string)) error {
	files, err := filepath.Glob(filepath.Join(c.cache, "images", runtime, "*.tar"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if runtime == "node" {
			err = c.load([]string{file})
		} else {
			err = c.loadDocker(file)
		}
		if err != nil {
			return fmt.Errorf("loading %s: %w", file, err)
		}
	}
	done(fmt.Sprintf("images of %s loaded", map[string]string{"node": "the node", "docker": "dockerd"}[runtime]))
	return nil
}

// loadDocker waits for dockerd, which starts concurrently with Kubernetes.
func (c *cluster) loadDocker(file string) error {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		_, err := os.Stat(fmt.Sprintf("/proc/%d/root/run/docker.sock", c.initPID()))
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("dockerd made no socket within a minute: %w; its log is %s", err, c.state.file("log", "dockerd.log"))
		}
	}
	err := quietly(c.inNode("docker", "load", "--quiet", "--input", file))
	if err != nil && strings.Contains(err.Error(), "Cannot connect") {
		return fmt.Errorf("%w; its log is %s", err, c.state.file("log", "dockerd.log"))
	}
	return err
}

// initPID is the node's process 1, 0 if there is none.
func (c *cluster) initPID() int {
	if r, err := c.state.readRecord(); err == nil && r != nil {
		return r.Init.PID
	}
	return 0
}
