// Command runc-caps is runc for machines that withhold a capability from root,
// as virtual machines of build services do with CAP_SYS_RESOURCE. Docker asks
// for every capability when a container is privileged, and runc fails on one
// that the machine does not have; so those are taken out of the container's
// description first. On any other machine it changes nothing.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

func main() {
	if err := run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "runc-caps:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	missing, err := missingCapabilities("/proc/self/status")
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		for _, d := range descriptions(args[1:]) {
			if err := d.remove(missing); err != nil {
				return fmt.Errorf("rewriting %s: %w", d.file, err)
			}
		}
	}
	runc, err := exec.LookPath("runc")
	if err != nil {
		return err
	}
	return syscall.Exec(runc, append([]string{"runc"}, args[1:]...), os.Environ())
}
