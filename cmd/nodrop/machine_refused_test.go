package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/base/exit"
	vm "nodrop.dev/nodrop/internal/dut/machine"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// TestRunMachineRefuses runs the sample machine where it cannot start, and with values that it cannot have. It sends no frames.
func TestRunMachineRefuses(t *testing.T) {
	sendsNoFrames(t)
	empty := t.TempDir()
	for name, c := range map[string]struct {
		args []string
		dir  string
		// installed is set for messages about the directory with kernels, before which QEMU is looked for.
		installed bool
		want      []string
	}{
		"no directory":   {dir: "", installed: true, want: []string{"$NODROP_MACHINES is not set", "hint: set NODROP_MACHINES to a directory with kernels, which hack/vm/machines DIR fills"}},
		"missing":        {dir: filepath.Join(empty, "none"), installed: true, want: []string{"none: no such file or directory", "hack/vm/machines " + empty + "/none makes it"}},
		"unknown kernel": {dir: empty, installed: true, want: []string{empty + " contains no kernel", "hint: hack/vm/machines " + empty + " debian13"}},
		"memory":         {args: []string{"--set", "bed.spec.device.machine.memory=64Mi"}, want: []string{"spec.device.machine.memory", "memory is 64Mi: give 256Mi to 16Gi"}},
		"processors":     {args: []string{"--set", "bed.spec.device.machine.processors=17"}, want: []string{"spec.device.machine.processors", "17", "16"}},
		"kernel":         {args: []string{"--set", "bed.spec.device.machine.kernel=../debian"}, want: []string{"spec.device.machine.kernel", `"../debian" is not the name of a kernel`, "such as debian13"}},
		"modules":        {args: []string{"--set", "bed.spec.device.machine.modules=[-v]"}, want: []string{`"-v" is not the name of a kernel module`}},
		"interfaces":     {args: []string{"--set", "bed.spec.device.machine.interfaces=[{name: e1, port: p1}, {name: e2, port: p3}]"}, want: []string{"device.machine.interfaces must have one interface for each port of the bed"}},
		"engine":         {args: []string{"--set", "bed.spec.engine={kind: trex}"}, want: []string{"device.machine needs the engine xdp: set engine.kind to xdp"}},
		"node":           {args: []string{"--set", "bed.spec.ports[0].node=lab-1"}, want: []string{"device.machine is given, and a port has node or attachment: remove them"}},
		"key":            {args: []string{"--set", "bed.spec.device.machine.configuration.configMapRef.key=push"}, want: []string{`has no key "push"`}},
		"two devices":    {args: []string{"--set", "bed.spec.device.physical={vendor: acme, model: one}"}, want: []string{"exactly one of"}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.installed {
				testserver.Installed(t, "qemu-system-x86_64", "QEMU", "hack/vm/install")
			}
			p := prepare(t, "nodrop", append([]string{"run", "-f", filepath.Join(samplesDir, "machine"), "--state-dir", t.TempDir()}, c.args...)...)
			p.cmd.Env = append(p.cmd.Env, vm.DirEnv+"="+c.dir)
			p.begin()
			if code := p.exit(); code != exit.Use {
				t.Errorf("exit code %d, want %d", code, exit.Use)
			}
			for _, want := range c.want {
				if !strings.Contains(p.stderr.String(), want) {
					t.Errorf("the message lacks %q: %s", want, &p.stderr)
				}
			}
		})
	}
	if entries, err := os.ReadDir(empty); err != nil || len(entries) > 0 {
		t.Errorf("the directory has %v: %v", entries, err)
	}
}
