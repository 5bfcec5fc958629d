package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The addresses exist in the node's network namespace only; they need to differ
// from each other and from the test networks (198.18.0.0/15), nothing else.
const (
	nodeName     = "node1"
	nodeIP       = "172.31.99.1"
	podSubnet    = "10.244.0.0/24"
	serviceRange = "10.96.0.0/16"
	kubernetesIP = "10.96.0.1" // the first of serviceRange, which Kubernetes takes for itself
	apiServer    = "https://" + nodeIP + ":6443"
)

// cluster is one cluster: where its programs and its files are.
type cluster struct {
	cache string // what hack/cluster/build made
	state stateDir
	group cgroup // that all pods and devices run under
}

func newCluster(cache, state string) (*cluster, error) {
	for name, dir := range map[string]string{"NODROP_CACHE": cache, "NODROP_STATE": state} {
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("%s=%q must be an absolute path; use the scripts in hack/cluster", name, dir)
		}
	}
	sum := sha256.Sum256([]byte(state))
	return &cluster{cache: cache, state: stateDir(state), group: cgroup("nodrop-" + hex.EncodeToString(sum[:4]))}, nil
}

// searchPath lets the daemons find their own programs first.
func (c *cluster) searchPath() string {
	return strings.Join([]string{
		filepath.Join(c.cache, "k8s/bin"), filepath.Join(c.cache, "runtime/bin"),
		filepath.Join(c.cache, "docker/usr/bin"), filepath.Join(c.cache, "docker/usr/sbin"), filepath.Join(c.cache, "bin"),
		"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin",
	}, ":")
}

// environment returns the environment variables of daemons and commands in the node.
func (c *cluster) environment() []string {
	env := []string{
		"PATH=" + c.searchPath(),
		"KUBECONFIG=" + c.state.file("pki", "admin.kubeconfig"),
		// For dockerd, which is unpacked and not installed.
		"LD_LIBRARY_PATH=" + filepath.Join(c.cache, "docker/usr/lib/x86_64-linux-gnu"),
	}
	for _, name := range []string{"HOME", "TERM", "LANG"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
