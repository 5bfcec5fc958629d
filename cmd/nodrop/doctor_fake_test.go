//go:build !standalone

package main

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/internal/lab/doctor"
	"nodrop.dev/nodrop/internal/lab/doctor/probe"
	"nodrop.dev/nodrop/internal/reporting/metrics/recorder"
)

// fakeNodes stand between the command and a real API server, and answer for the
// kubelets that such a server has none of: configuration, and the log of a pod
// that ran. All else is the server's.
type fakeNodes struct {
	t       *testing.T
	admin   client.Client
	server  *httputil.ReverseProxy
	kubelet map[string]doctor.Kubelet
	probe   map[string]probe.Node
	// recorder is the state that the recorder logs.
	recorder *recorder.State
}

// front starts fake nodes before the server that config reaches, and returns a
// kubeconfig for them.
func (n *fakeNodes) front(config *rest.Config) string {
	n.t.Helper()
	target, err := url.Parse(config.Host)
	if err != nil {
		n.t.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		n.t.Fatal(err)
	}
	each := *n
	each.server = httputil.NewSingleHostReverseProxy(target)
	each.server.Transport = transport
	each.server.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, err error) {
		http.Error(w, err.Error(), http.StatusBadGateway)
	}
	listener := httptest.NewServer(&each)
	n.t.Cleanup(listener.Close)
	kubeconfig := clientcmdapi.NewConfig()
	kubeconfig.Clusters["fake"] = &clientcmdapi.Cluster{Server: listener.URL}
	kubeconfig.Contexts["fake"] = &clientcmdapi.Context{Cluster: "fake"}
	kubeconfig.CurrentContext = "fake"
	path := filepath.Join(n.t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*kubeconfig, path); err != nil {
		n.t.Fatal(err)
	}
	return path
}

func (n *fakeNodes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case strings.HasSuffix(r.URL.Path, "/proxy/configz") && len(parts) == 6:
		if kubelet, there := n.kubelet[parts[3]]; there {
			_ = json.NewEncoder(w).Encode(map[string]any{"kubeletconfig": kubelet})
			return
		}
	case strings.HasSuffix(r.URL.Path, "/pods/nodrop-recorder/log") && n.recorder != nil:
		n.recorder.Log(slog.New(slog.NewTextHandler(w, nil)))
		return
	case r.Method == http.MethodGet && len(parts) >= 6 && parts[4] == "pods" && strings.HasPrefix(parts[5], "nodrop-doctor-"):
		pod := n.run(r, client.ObjectKey{Namespace: parts[3], Name: parts[5]})
		if len(parts) == 7 && parts[6] == "log" && pod != nil {
			_ = json.NewEncoder(w).Encode(n.probe[nodeOf(pod)])
			return
		}
	}
	n.server.ServeHTTP(w, r)
}

// run marks a requested pod as succeeded if its node runs pods. It ignores the errors of
// interrupted requests.
func (n *fakeNodes) run(r *http.Request, key client.ObjectKey) *corev1.Pod {
	var pod corev1.Pod
	err := n.admin.Get(r.Context(), key, &pod)
	if _, runs := n.probe[nodeOf(&pod)]; err == nil && runs && pod.Status.Phase != corev1.PodSucceeded {
		pod.Status.Phase = corev1.PodSucceeded
		err = n.admin.Status().Update(r.Context(), &pod)
	}
	if err != nil && r.Context().Err() == nil {
		n.t.Errorf("running pod %s: %v", key, err)
	}
	if err != nil {
		return nil
	}
	return &pod
}

// nodeOf returns the node that a pod asks for, "" for none.
func nodeOf(pod *corev1.Pod) string {
	if pod.Spec.Affinity == nil {
		return ""
	}
	return pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0].Values[0]
}
