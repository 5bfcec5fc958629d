package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// places are folders of this machine, which an emulated one sees as well.
type places struct {
	// root of the repository, bin with what was compiled, and results.
	root, bin, results string
}

// start is the maximum time for a machine to start, in addition to the time of its checks.
const start = 5 * time.Minute

// machine is one emulated machine that checks run in.
type machine struct {
	kernel string
	// device that QEMU emulates; empty for no card.
	device string
	// setUp sets the names of the interfaces, a and b.
	setUp string
	// refuses has a part of the message by which NoDrop refuses a check.
	refuses map[string]string
	// label of its results.
	label string
}

// run starts the machine and runs the checks in it after each other. If the machine ends
// early, the checks that are left run in another one.
func (m machine) run(p places, checks []check) error {
	out := filepath.Join(p.results, m.label)
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for left := checks; len(left) > 0; {
		for _, c := range left {
			for _, kind := range []string{"code", "log", "json", "json.rows"} {
				if err := os.Remove(filepath.Join(out, c.name+"."+kind)); err != nil && !os.IsNotExist(err) {
					return err
				}
			}
		}
		if err := os.WriteFile(filepath.Join(out, "script"), []byte(m.script(p, left)), 0o644); err != nil {
			return err
		}
		limit := start
		for _, c := range left {
			limit += c.limit
		}
		device := m.device
		if device == "" {
			device = "none"
		}
		cmd := exec.Command(filepath.Join(p.root, "hack/vm/run"), m.kernel, "bash", filepath.Join(out, "script"))
		cmd.Dir = p.root
		cmd.Env = append(os.Environ(), "VM_CARD="+device, "VM_OUT="+out, "NODROP_TEST_EMULATED=1", fmt.Sprintf("VM_TIMEOUT=%d", int(limit.Seconds())))
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		ended := cmd.Run()
		n := 0
		for _, c := range left {
			if _, err := os.Stat(filepath.Join(out, c.name+".log")); err != nil {
				break
			}
			n++
		}
		if n == 0 {
			return fmt.Errorf("starting the machine %s: %w", m.label, ended)
		}
		left = left[n:]
	}
	return nil
}

// stored returns the last cell of each check that ran in the machine.
func stored(p places, m machine, checks []check) map[string]cell {
	cells := map[string]cell{}
	out := filepath.Join(p.results, m.label)
	for _, c := range checks {
		if _, err := os.Stat(filepath.Join(out, c.name+".log")); err == nil {
			cells[c.name] = read(out, c, m.refuses[c.name])
		}
	}
	return cells
}

// script runs the checks and writes, for each, what it printed and its exit code.
func (m machine) script(p places, checks []check) string {
	var b strings.Builder
	out := "/run/vm/out"
	fmt.Fprintf(&b, "export root=%s bin=%s out=%s\n", strconv.Quote(p.root), strconv.Quote(p.bin), out)
	b.WriteString("a=eth0 b=eth1\n" + m.setUp + "export a b\n")
	for _, c := range checks {
		fmt.Fprintf(&b, "name=%s\n: > $out/$name.log\ncat > /tmp/$name <<'END-OF-CHECK'\n%s%sEND-OF-CHECK\n", c.name, prelude, c.script)
		fmt.Fprintf(&b, "echo \"%s: %s\"\nname=$name timeout %d bash /tmp/$name > $out/$name.log 2>&1 </dev/null; code=$?; echo $code > $out/$name.code; echo \"%s: %s: exit code $code\"\n",
			m.label, c.name, int(c.limit.Seconds()), m.label, c.name)
	}
	return b.String()
}

// prelude of every check. measured accepts the exit codes of a run that measured: 0 and 7
// (without a calibration).
const prelude = `set -eu
cd $root
measured() { [ $1 = 7 ] || exit $1; }
`
