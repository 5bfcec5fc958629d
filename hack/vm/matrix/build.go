package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// build compiles what the machines run.
func build(p places) error {
	if err := os.MkdirAll(p.bin, 0o755); err != nil {
		return err
	}
	for _, command := range [][]string{
		{".", "build", "-tags", "standalone", "-ldflags", "-s -w", "-o", "nodrop", "./cmd/nodrop"},
		{".", "test", "-c", "-vet=off", "-ldflags", "-w", "-tags", "standalone", "-o", "nodrop.test", "./cmd/nodrop"},
		{".", "test", "-c", "-vet=off", "-ldflags", "-w", "-o", "xdp.test", "./internal/traffic/xdp"},
		{"hack", "build", "-o", "matrix", "./vm/matrix"},
	} {
		args := append([]string{}, command[1:]...)
		for i, a := range args {
			if a == "-o" {
				args[i+1] = filepath.Join(p.bin, args[i+1])
			}
		}
		cmd := exec.Command("go", args...)
		cmd.Dir = filepath.Join(p.root, command[0])
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("compiling %s: %w", command[len(command)-1], err)
		}
	}
	return nil
}
