package testserver

import (
	"net/http"
	"path/filepath"
	"testing"
)

// Grafana is the backend of Grafana 6.1.6, which hack/grafana/build makes.
type Grafana struct {
	// URL of the server.
	URL string

	program string
	Process
}

// NewGrafana returns a Grafana that is to listen at an address, by the configuration that the test
// writes. It skips the test if Grafana was not built.
func NewGrafana(t testing.TB, address string) *Grafana {
	t.Helper()
	return &Grafana{URL: "http://" + address, program: Binary(t, "grafana-server", "Grafana", "hack/grafana/build")}
}

// Run runs the server until the test ends, with further environment and arguments.
func (g *Grafana) Run(t testing.TB, env []string, args ...string) {
	t.Helper()
	g.Process = Process{
		What: "Grafana server", Command: append([]string{g.program, "-homepath", filepath.Join(filepath.Dir(g.program), "grafana")}, args...), Env: env,
		Health: g.URL + "/api/health", Status: http.StatusOK,
	}
	g.Start(t)
}
