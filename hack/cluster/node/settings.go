package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// settings are the configuration files of the daemons.
type settings struct {
	cache string
	state stateDir
	group cgroup
}

// write writes the configuration files of the daemons.
func (s settings) write() error {
	docker, err := json.MarshalIndent(s.docker(), "", "  ")
	if err != nil {
		return err
	}
	multus, err := json.MarshalIndent(s.multus(), "", "  ")
	if err != nil {
		return err
	}
	for file, content := range map[string]string{
		s.state.file("config", "containerd.toml"):      s.containerd(),
		s.state.file("config", "kubelet.yaml"):         s.kubelet(),
		s.state.file("config", "docker.json"):          string(docker),
		s.state.file("config", "resolv.conf"):          "", // no DNS: addresses are used
		s.state.file("cni", "net.d", "00-multus.conf"): string(multus),
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			return fmt.Errorf("writing the daemons' settings: %w", err)
		}
	}
	return nil
}

// containerd is the configuration of containerd.
func (s settings) containerd() string {
	return fmt.Sprintf(`version = 3
root = %q
state = "/run/containerd"
disabled_plugins = ["io.containerd.nri.v1.nri"]

[plugins."io.containerd.internal.v1.opt"]
  path = %q

[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "localhost/pause:1"

[plugins."io.containerd.cri.v1.runtime"]
  # A machine may withhold CAP_SYS_RESOURCE; then no process may lower its score.
  restrict_oom_score_adj = true

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
    SystemdCgroup = false

[plugins."io.containerd.cri.v1.runtime".cni]
  bin_dirs = [%q]
  conf_dir = %q
`, s.state.file("containerd"), s.state.file("containerd", "opt"), filepath.Join(s.cache, "cni/bin"), s.state.file("cni", "net.d"))
}

// kubelet is the configuration of the kubelet.
func (s settings) kubelet() string {
	return fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: %[1]q}
authorization: {mode: Webhook}
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
podLogsDir: %[2]q
volumePluginDir: %[3]q
resolvConf: %[4]q
clusterDomain: cluster.local
clusterDNS: [%[5]s]
cgroupDriver: cgroupfs
cgroupRoot: /%[6]s
failCgroupV1: false
failSwapOn: false
# The node shares its disk with the machine, which may be fuller than the
# defaults allow; images cannot be pulled again, so none is ever deleted.
evictionHard:
  memory.available: 100Mi
  nodefs.available: 0%%
  nodefs.inodesFree: 0%%
  imagefs.available: 0%%
  imagefs.inodesFree: 0%%
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
# An idle node takes as little of the measured cores as it can.
volumeStatsAggPeriod: 1h
nodeStatusUpdateFrequency: 10s
nodeStatusReportFrequency: 5m
# Tests kill processes of pods again and again: the next one starts a second later.
crashLoopBackOff: {maxContainerRestartPeriod: 1s}
`, s.state.file("pki", "ca.crt"), s.state.file("pods"), s.state.file("kubelet", "volume-plugins"), s.state.file("config", "resolv.conf"),
		nodeIP, s.group)
}

// docker keeps dockerd to what containerlab needs: it starts containers
// and leaves routes, filters and forwarding of the node as they are.
func (s settings) docker() map[string]any {
	return map[string]any{
		"hosts":     []string{"unix:///run/docker.sock"},
		"data-root": s.state.file("docker"),
		// Else dockerd keeps its identity in the machine's /etc/docker.
		"deprecated-key-path": s.state.file("docker", "key.json"),
		"exec-root":           "/run/docker",
		"pidfile":             "/run/docker.pid",
		"containerd":          "/run/containerd/containerd.sock",
		"storage-driver":      "overlay2",
		"bridge":              "none",
		"iptables":            false,
		"ip6tables":           false,
		"ip-forward":          false,
		"userland-proxy":      false,
		"exec-opts":           []string{"native.cgroupdriver=cgroupfs"},
		"cgroup-parent":       "/" + string(s.group) + "/docker",
		"default-runtime":     "nodrop",
		"runtimes":            map[string]any{"nodrop": map[string]any{"path": filepath.Join(s.cache, "bin/runc-caps")}},
		// The management network of a lab stays clear of the test networks.
		"default-address-pools": []map[string]any{{"base": "172.30.0.0/16", "size": 24}},
	}
}

// multus puts Multus before the pod network. The pod network is given as
// one plain plugin and not as a list: on deletion Multus 4.2.4 hands a cached
// list back without its address ranges, and the pod's address leaks.
//
// Pods are on links of their own (ptp) and not on a bridge: traffic between two
// of them is then routed and passes kube-proxy's rules on a kernel without
// br_netfilter too.
func (s settings) multus() map[string]any {
	return map[string]any{
		"cniVersion": "1.0.0",
		"name":       "nodrop-pods",
		"type":       "multus",
		"logFile":    s.state.file("log", "multus.log"),
		"logLevel":   "error",
		"kubeconfig": s.state.file("pki", "multus.kubeconfig"),
		"cniDir":     s.state.file("cni", "state", "multus"),
		"binDir":     filepath.Join(s.cache, "cni/bin"),
		"delegates": []map[string]any{{
			"cniVersion": "1.0.0",
			"name":       "pods",
			"type":       "ptp",
			"ipam": map[string]any{
				"type":    "host-local",
				"dataDir": s.state.file("cni", "state", "addresses"),
				"ranges":  [][]map[string]any{{{"subnet": podSubnet}}},
				"routes":  []map[string]any{{"dst": "0.0.0.0/0"}},
			},
		}},
	}
}
