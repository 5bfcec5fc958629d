//go:build !standalone

package main

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/testkit/kubetest/objects"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// apiServer is an API server behind a line that can be cut.
type apiServer struct {
	t      *testing.T
	client client.Client
	// rest is the way to the server without the line.
	rest       *rest.Config
	kubeconfig string
	line       *cutter
}

// launched is an API server that one test has at a time.
type launched struct {
	rest       *rest.Config
	kubeconfig []byte
}

// freeServers are the API servers that no test has.
var freeServers struct {
	sync.Mutex
	all []launched
}

// newAPIServer returns an API server with a profile and nothing else. The test has it until it ends, and the next one gets it without
// the objects of this one.
func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	server := takeServer(t)
	c := newAPIServerAt(t, server)
	t.Cleanup(func() {
		if err := wipe(c.client); err != nil {
			t.Errorf("removing the objects of the test: %v", err)
			return
		}
		freeServers.Lock()
		defer freeServers.Unlock()
		freeServers.all = append(freeServers.all, server)
	})
	return c
}

// newAPIServerAt is newAPIServer with a server that was started.
func newAPIServerAt(t *testing.T, server launched) *apiServer {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme), rbacv1.AddToScheme(scheme), authorizationv1.AddToScheme(scheme), admissionv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(server.rest, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.Load(server.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	result := &apiServer{t: t, client: c, rest: server.rest, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	for _, entry := range config.Clusters {
		server, err := url.Parse(entry.Server)
		if err != nil {
			t.Fatal(err)
		}
		result.line = newCutter(t, server.Host)
		// The certificate is of the server's own address.
		entry.TLSServerName, server.Host = server.Hostname(), result.line.address
		entry.Server = server.String()
	}
	if err := clientcmd.WriteToFile(*config, result.kubeconfig); err != nil {
		t.Fatal(err)
	}
	profile := objects.TrafficProfile("default", "pairs")
	profile.Spec.Pattern.Pairs = &v1alpha1.PairsPattern{}
	profile.Spec.Packet.IPv4 = &v1alpha1.IPPacket{}
	if err := c.Create(context.Background(), profile); err != nil {
		t.Fatal(err)
	}
	return result
}

// takeServer returns a server that no test has, and starts one if there is none.
func takeServer(t *testing.T) launched {
	t.Helper()
	freeServers.Lock()
	if last := len(freeServers.all) - 1; last >= 0 {
		defer freeServers.Unlock()
		server := freeServers.all[last]
		freeServers.all = freeServers.all[:last]
		return server
	}
	freeServers.Unlock()
	config, env := testserver.LaunchAPIServer(t, nil)
	whenTestsEnd(env.Stop)
	return launched{config, env.KubeConfig}
}

// wipe deletes the objects that a test has made: all of the API of NoDrop, and roles and bindings that no API server starts with.
func wipe(c client.Client) error {
	return testserver.DeleteAll(context.Background(), c, append(testserver.Kinds(),
		&rbacv1.RoleBindingList{}, &rbacv1.RoleList{}, &rbacv1.ClusterRoleBindingList{}, &rbacv1.ClusterRoleList{})...)
}
