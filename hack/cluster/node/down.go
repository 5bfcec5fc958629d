package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// down stops the cluster and deletes its state. It also cleans up after an "up"
// that failed half-way, and does nothing where there is nothing.
func (c *cluster) down() error {
	r, err := c.state.readRecord()
	if err != nil {
		return err
	}
	if r != nil {
		if err := r.Init.kill(); err != nil {
			return fmt.Errorf("stopping the node: %w", err)
		}
		if err := restore(r.Preferred); err != nil {
			return err
		}
	}
	if err := c.group.remove(); err != nil {
		return err
	}
	if err := os.RemoveAll(string(c.state)); err != nil {
		return fmt.Errorf("deleting the cluster's state: %w", err)
	}
	return nil
}

// kill ends the node's process 1 and waits until it is gone; the kernel ends
// everything else in its process namespace before.
func (p process) kill() error {
	if !p.running() {
		return nil
	}
	if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	for deadline := time.Now().Add(30 * time.Second); p.running(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			return fmt.Errorf("process %d does not end", p.PID)
		}
	}
	return nil
}
