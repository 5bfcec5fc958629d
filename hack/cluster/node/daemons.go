package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// firstDaemons returns the daemons that need no Kubernetes API.
//
// The node shares two cores with the traffic that it measures. So functions for clusters of
// many nodes or for long life are off or slowed down here: leader election, frequent
// heartbeats, profiling, house-keeping.
func firstDaemons(state stateDir) []daemon {
	pki := func(name string) string { return state.file("pki", name) }
	return []daemon{
		{"containerd", []string{"--config", state.file("config", "containerd.toml")}},
		{"etcd", []string{
			"--data-dir", state.file("etcd"), "--log-level", "warn",
			"--listen-client-urls", "http://127.0.0.1:2379", "--advertise-client-urls", "http://127.0.0.1:2379",
			"--listen-peer-urls", "http://127.0.0.1:2380", "--initial-advertise-peer-urls", "http://127.0.0.1:2380",
			"--initial-cluster", "default=http://127.0.0.1:2380",
			"--heartbeat-interval", "250", "--election-timeout", "2500",
			// Lost power loses this cluster anyway: "down" wipes it.
			"--unsafe-no-fsync",
		}},
		{"kube-apiserver", []string{
			"--etcd-servers=http://127.0.0.1:2379",
			"--bind-address=0.0.0.0", "--secure-port=6443", "--advertise-address=" + nodeIP,
			"--service-cluster-ip-range=" + serviceRange,
			"--tls-cert-file=" + pki("apiserver.crt"), "--tls-private-key-file=" + pki("apiserver.key"),
			"--cert-dir=" + state.file("apiserver"), "--client-ca-file=" + pki("ca.crt"),
			"--kubelet-client-certificate=" + pki("kubelet-client.crt"), "--kubelet-client-key=" + pki("kubelet-client.key"),
			// The node's name is in no DNS.
			"--kubelet-preferred-address-types=InternalIP",
			"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
			"--service-account-key-file=" + pki("service-account.pub"),
			"--service-account-signing-key-file=" + pki("service-account.key"),
			"--requestheader-client-ca-file=" + pki("front-proxy-ca.crt"), "--requestheader-allowed-names=front-proxy-client",
			"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
			"--requestheader-extra-headers-prefix=X-Remote-Extra-",
			"--proxy-client-cert-file=" + pki("front-proxy-client.crt"), "--proxy-client-key-file=" + pki("front-proxy-client.key"),
			"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
			"--profiling=false",
			// The defaults of 400 and 200 are for servers with many processors: the smallest share of a priority level is three
			// requests at once, which take two processors completely.
			"--max-requests-inflight=80", "--max-mutating-requests-inflight=40",
		}},
		{"dockerd", []string{"--config-file", state.file("config", "docker.json")}},
	}
}

// laterDaemons are started once the API answers: earlier they would only fail
// and wait ever longer between attempts.
func laterDaemons(state stateDir) []daemon {
	pki := func(name string) string { return state.file("pki", name) }
	client := func(name string) []string {
		kubeconfig := pki(name + ".kubeconfig")
		return []string{
			"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
			"--bind-address=127.0.0.1", "--leader-elect=false", "--profiling=false",
		}
	}
	return []daemon{
		{"kubelet", []string{
			"--config=" + state.file("config", "kubelet.yaml"), "--kubeconfig=" + pki("kubelet.kubeconfig"),
			"--hostname-override=" + nodeName, "--node-ip=" + nodeIP, "--housekeeping-interval=1m",
		}},
		{"kube-controller-manager", append(client("controller-manager"),
			"--service-account-private-key-file="+pki("service-account.key"), "--root-ca-file="+pki("ca.crt"),
			"--cluster-signing-cert-file="+pki("ca.crt"), "--cluster-signing-key-file="+pki("ca.key"),
			"--use-service-account-credentials=true", "--flex-volume-plugin-dir="+state.file("kubelet", "volume-plugins"),
			"--node-monitor-period=30s", "--node-monitor-grace-period=3m",
			// Its start is a burst of requests, which the default limits spread over seconds.
			"--kube-api-qps=300", "--kube-api-burst=600",
		)},
		{"kube-scheduler", client("scheduler")},
		{"kube-proxy", []string{
			"--kubeconfig=" + pki("proxy.kubeconfig"), "--proxy-mode=nftables", "--cluster-cidr=" + podSubnet,
			"--hostname-override=" + nodeName, "--metrics-bind-address=127.0.0.1", "--healthz-bind-address=127.0.0.1",
			// These are machine-wide and not the node's to change.
			"--conntrack-max-per-core=0", "--conntrack-tcp-timeout-established=0", "--conntrack-tcp-timeout-close-wait=0",
		}},
	}
}

// awaitAPIServer waits until the API server says that it is ready.
func awaitAPIServer(state stateDir) error {
	ca, err := os.ReadFile(state.file("pki", "ca.crt"))
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	client := http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}},
	}
	defer client.CloseIdleConnections()
	last := fmt.Errorf("not asked yet")
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		response, err := client.Get(apiServer + "/readyz")
		if err != nil {
			last = err
			continue
		}
		response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return nil
		}
		last = fmt.Errorf("it answered %s", response.Status)
	}
	return fmt.Errorf("the API server is not ready after 2 min: %w; its log is %s", last, filepath.Join(state.file("log"), "kube-apiserver.log"))
}
