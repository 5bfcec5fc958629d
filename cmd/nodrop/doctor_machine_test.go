//go:build linux && !standalone

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

// TestDoctorMachine looks at this computer without a cluster, with and without a kernel.
func TestDoctorMachine(t *testing.T) {
	sendsNoFrames(t)
	testserver.Installed(t, "qemu-system-x86_64", "QEMU", "hack/vm/install")
	whole := t.TempDir()
	for _, file := range []string{"vmlinuz", "image.gz", "release", "modules/6.0-test/modules.dep"} {
		path := filepath.Join(whole, "mine", file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("6.0-test\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		args []string
		dir  string
		code int
		want []string
	}{
		"not set":   {nil, "", exit.Failed, []string{"Emulated machines on this computer", "directory with kernels", "$NODROP_MACHINES is not set", "hack/vm/machines DIR", "emulated machines: 1 thing missing (directory with kernels)"}},
		"no kernel": {nil, t.TempDir(), exit.Failed, []string{"emulated machines: 1 thing missing (kernel)"}},
		"whole":     {nil, whole, exit.Passed, []string{"mine", "emulated machines: ready"}},
		"JSON":      {[]string{"-o", "json"}, whole, exit.Passed, []string{`"engine": "machine"`, `"check": "QEMU"`, `"state": "Ready"`}},
		"a node":    {[]string{"--node", "worker-1"}, whole, exit.Use, []string{"--engine machine looks at this computer, and not at a cluster: leave out other engines, --bed, --node and --probe"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := prepare(t, "nodrop", append([]string{"doctor", "--engine", "machine"}, c.args...)...)
			p.cmd.Env = append(p.cmd.Env, vm.DirEnv+"="+c.dir, "KUBECONFIG="+filepath.Join(whole, "none"))
			p.begin()
			if code := p.exit(); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			for _, want := range c.want {
				if out := strings.Join(strings.Fields(p.stdout.String()+p.stderr.String()), " "); !strings.Contains(out, want) {
					t.Errorf("the output lacks %q: %s%s", want, &p.stdout, &p.stderr)
				}
			}
		})
	}
}
