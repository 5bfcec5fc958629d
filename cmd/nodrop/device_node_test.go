//go:build !standalone

package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/platform"
	"nodrop.dev/nodrop/internal/dut/device"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/testkit/containertest"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// nodeTopology has Linux as a router, with the programs of this machine, which is Debian as well, and FRR.
const nodeTopology = `name: nodes
mgmt: {network: nodrop-mgmt, ipv4-subnet: 172.30.255.0/24, external-access: false}
topology:
  defaults: {kind: linux, image: IMAGE, image-pull-policy: Never, network-mode: none}
  nodes:
    linux:
      cmd: sleep infinity
      binds: ["/usr:/usr:ro"]
      exec: [ip address add 198.18.1.1/24 dev eth1, touch /etc/nftables.conf]
    router:
      healthcheck:
        interval: 1
        retries: 30
        test: [CMD-SHELL, "vtysh -d zebra -c 'show version' && vtysh -d staticd -c 'show version'"]
  links:
  - endpoints: ["linux:eth1", "host:nd-p1"]
  - endpoints: ["router:eth1", "host:nd-p2"]
`

// nodeLab is a Docker next to which containerlab runs.
type nodeLab struct {
	*testing.T
	docker *containertest.Docker
	dir    string
	// containerlab is the path of its program.
	containerlab string
}

// device runs nodrop device with the topology, and returns its exit code and what it complained about.
func (l *nodeLab) device(action, node string, more ...string) (code int, problems string) {
	l.Helper()
	self, err := os.Executable()
	if err != nil {
		l.Fatal(err)
	}
	args := []string{
		"device", action, "--topology", filepath.Join(l.dir, "topology.clab.yaml"), "--node", node, "--dir", filepath.Join(l.dir, "labs"),
		"--containerlab", l.containerlab, "--timeout", "1m",
	}
	cmd := l.docker.HostCommand(self, append(args, more...)...)
	var stderr strings.Builder
	cmd.Env, cmd.Stderr = append(cmd.Env, asProgram+"=1"), &stderr
	var status *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &status) {
		l.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stderr.String()
}

// up starts the topology, and configures a node of it.
func (l *nodeLab) up(node string, n *device.Node) (started device.Started, code int, problems string) {
	l.Helper()
	text, err := runner.Compress(n)
	if err != nil {
		l.Fatal(err)
	}
	configuration, report := filepath.Join(l.dir, "configuration"), filepath.Join(l.dir, "report")
	if err := os.WriteFile(configuration, text, 0o600); err != nil {
		l.Fatal(err)
	}
	_ = os.Remove(report)
	if code, problems = l.device("up", node, "--configuration", configuration, "--report", report, "--own-processors"); code != 0 {
		if text, err := os.ReadFile(report); err != nil || !strings.HasPrefix(string(text), "configuring node "+node+": ") {
			l.Errorf("the report of the failure is %q, %v", text, err)
		}
		return started, code, problems
	}
	if text, err = os.ReadFile(report); err == nil {
		err = json.Unmarshal(text, &started)
	}
	if err != nil {
		l.Fatal(err)
	}
	return started, code, problems
}

// TestDeviceUpConfiguresNodes starts a topology with containerlab and Docker, and configures its nodes on each platform. Each call deploys anew: a pod that
// was lost in the middle is made again.
func TestDeviceUpConfiguresNodes(t *testing.T) {
	sendsNoFrames(t)
	l := &nodeLab{T: t, docker: containertest.Start(t), dir: t.TempDir()}
	l.containerlab = testserver.Cached(t, "containerlab/containerlab", "containerlab", "hack/cluster/build")
	l.docker.OwnFiles()
	topology := strings.ReplaceAll(nodeTopology, "IMAGE", containertest.Image)
	if err := os.WriteFile(filepath.Join(l.dir, "topology.clab.yaml"), []byte(topology), 0o600); err != nil {
		t.Fatal(err)
	}
	const rules = "flush ruleset\ntable inet lab {\n\tchain forward {\n\t\ttype filter hook forward priority filter; policy accept;\n\t\tip daddr 198.18.LINE.0/24 drop\n\t}\n}\n"
	list, bad := strings.Replace(rules, "LINE", "9", 1), strings.Replace(rules, "LINE", "300", 1)
	indented := func(text string) string {
		return "/etc/nftables.conf: |\n  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") + "\n"
	}
	files := objects.NodeConfiguration(v1alpha1.NodePlatformFiles, "c", "base")
	files.Files, files.Reload = []string{"/etc/nftables.conf"}, "nft -f /etc/nftables.conf"
	other := func(p v1alpha1.DevicePlatform) *v1alpha1.NodeConfiguration {
		return objects.NodeConfiguration(v1alpha1.NodePlatform(p), "c", "base")
	}
	for name, tc := range map[string]struct {
		node               string
		configuration      *v1alpha1.NodeConfiguration
		base, wanted, bad  string
		rejected, software string
		show               []string
		has                string
	}{
		"nftables": {
			"linux", other(v1alpha1.PlatformNFTables), "flush ruleset\n", list, bad,
			`configuring node linux: the device rejected "ip daddr 198.18.300.0/24 drop": `, "nftables v", []string{"nft", "list", "ruleset"}, "ip daddr 198.18.9.0/24 drop",
		},
		"files": {
			"linux", files, indented("flush ruleset"), indented(list), indented(bad),
			`configuring node linux: the device rejected "nft -f /etc/nftables.conf": `, "Linux ", []string{"nft", "list", "ruleset"}, "ip daddr 198.18.9.0/24 drop",
		},
		"iproute2": {
			"linux", other(v1alpha1.PlatformIPRoute2), "ip route add 198.19.1.0/24 via 198.18.1.9 dev eth1\n", "ip route add 198.19.2.0/24 via 198.18.1.9 dev eth1\n", "ip route add 198.19.2.0/24 via 198.18.7.9 dev eth1\n",
			`configuring node linux: the device rejected "`, "iproute2", []string{"ip", "route"}, "198.19.2.0/24 via 198.18.1.9 dev eth1",
		},
		"frr": {
			"router", other(v1alpha1.PlatformFRR), "hostname router\n", "hostname router\ninterface eth1\n ip address 198.18.2.1/24\n", "hostname router\nip route 198.18.300.0/24 198.18.1.9\n",
			`configuring node router: the device rejected "ip route 198.18.300.0/24 198.18.1.9"`, "FRRouting ", []string{"ip", "address", "show", "dev", "eth1"}, "198.18.2.1/24",
		},
	} {
		t.Run(name, func(t *testing.T) {
			rare(t, name == "files" || name == "iproute2") // Their drivers have tests with devices.
			l := &nodeLab{T: t, docker: l.docker, dir: l.dir, containerlab: l.containerlab}
			n := &device.Node{NodeConfiguration: *tc.configuration, Wanted: tc.wanted, Base: tc.base}
			language, err := platform.NodeLanguage(tc.configuration)
			if err != nil {
				t.Fatal(err)
			}
			wanted, err := configure.Whole(language, tc.wanted)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				started, code, problems := l.up(tc.node, n)
				if code != 0 {
					t.Fatal(problems)
				}
				c := started.Configuration
				if c == nil || c.Digest != configure.Digest(wanted) || c.Commands == 0 || c.Before == c.Digest || !strings.Contains(c.Software, tc.software) {
					t.Errorf("it reports %+v", c)
				}
				if len(started.Tester) == 0 {
					t.Errorf("it reports no processors: %+v", started)
				}
				if out := l.docker.Exec("clab-nodes-"+tc.node, tc.show...); strings.Count(out, tc.has) != 1 {
					t.Errorf("the node has %s", out)
				}
			}
			n.Wanted = tc.bad
			if _, code, problems := l.up(tc.node, n); code == 0 || !strings.Contains(problems, tc.rejected) {
				t.Errorf("code %d, want %q in %s", code, tc.rejected, problems)
			}
			for range 2 {
				if code, problems := l.device("down", tc.node); code != 0 {
					t.Fatal(problems)
				}
			}
			if left := l.docker.Containers(); len(left) > 0 {
				t.Errorf("%q are left", left)
			}
		})
	}
	_, code, problems := l.up("router", &device.Node{NodeConfiguration: *other(v1alpha1.PlatformNFTables), Wanted: list, Base: list})
	if code == 0 || !strings.Contains(problems, "configuring node router: no session with the device: ") || !strings.Contains(problems, "want a Linux device with nft") {
		t.Errorf("an image without nft: code %d: %s", code, problems)
	}
}
