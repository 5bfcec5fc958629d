package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fakeQEMU is a machine that hangs while it boots, as often as the file "hang" in its
// folder has lines, and then ends with exit code 3.
const fakeQEMU = `#!/bin/bash
dir=$(dirname "$0")
echo started >> $dir/starts
for arg; do case $arg in local,id=vm,path=*) share=${arg#*path=}; share=${share%%,*} ;; esac; done
if [ "$(wc -l < $dir/starts)" -le "$(wc -l < $dir/hang)" ]; then exec sleep 600; fi
touch "$share/begun"
echo 3 > "$share/code"
`

// TestRunStartsAgain runs hack/vm/run with a QEMU that hangs while it boots.
func TestRunStartsAgain(t *testing.T) {
	for name, c := range map[string]struct{ hangs, starts, code int }{
		"at once":     {0, 1, 3},
		"second time": {1, 2, 3},
		"third time":  {2, 3, 3},
		"never":       {3, 3, 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			kernel := filepath.Join(dir, "vm", "debian12")
			if err := os.MkdirAll(kernel, 0o755); err != nil {
				t.Fatal(err)
			}
			for file, text := range map[string]string{
				filepath.Join(kernel, "release"):         "6.1.0\n",
				filepath.Join(dir, "hang"):               strings.Repeat("x\n", c.hangs),
				filepath.Join(dir, "qemu-system-x86_64"): fakeQEMU,
			} {
				if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command("../run", "debian12", "true")
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "NODROP_CACHE="+dir, "VM_CARD=none", "VM_BOOT=2")
			out, err := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != c.code {
				t.Errorf("exit code %d (%v), want %d:\n%s", code, err, c.code, out)
			}
			starts, err := os.ReadFile(filepath.Join(dir, "starts"))
			if got := strings.Count(string(starts), "\n"); err != nil || got != c.starts {
				t.Errorf("%d starts (%v), want %d:\n%s", got, err, c.starts, out)
			}
			for n := 1; n <= c.hangs; n++ {
				if want := fmt.Sprintf("did not begin within 2 s (VM_BOOT) in the machine with the kernel debian12: attempt %d of 3", n); !strings.Contains(string(out), want) {
					t.Errorf("the output lacks %q:\n%s", want, out)
				}
			}
		})
	}
}

// TestInParallel checks that functions run together, and that each error comes back.
func TestInParallel(t *testing.T) {
	meet := make(chan bool)
	errs := inParallel(2, []func() error{
		func() error { meet <- true; return nil },
		func() error { <-meet; return os.ErrExist },
	})
	if len(errs) != 2 || errs[0] != nil || !errors.Is(errs[1], os.ErrExist) {
		t.Errorf("%v", errs)
	}
}
