// Package gnmitarget starts the gNMI target of gnxi, with the OpenConfig modules of interfaces, platform and system, for tests of
// what configures and reads devices.
package gnmitarget

import (
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/encoding/prototext"

	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// User and Password of the target.
const (
	User     = "lab"
	Password = "testing"
)

// owner is in the names of the certificates.
const owner = "gnmi"

// Target is a running gNMI target.
type Target struct {
	// Address is host:port.
	Address string

	t testing.TB
	// device and client have certificates of one authority.
	device, client pki.Bundle
	folder         string
}

// Start starts a target with a configuration in JSON, until the test ends.
func Start(t testing.TB, configuration string) *Target {
	t.Helper()
	program := testserver.Binary(t, "gnmi_target", "gNMI target", "hack/gnxi/build")
	now := time.Now()
	set, err := pki.Issue(owner, 1, now, now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	target := &Target{t: t, Address: testserver.FreeAddress(t), device: set.Agents[0], client: set.Runner, folder: t.TempDir()}
	for name, content := range map[string][]byte{
		"config.json": []byte(configuration), "ca": set.Runner.CA,
		"cert": target.device.Cert, "key": target.device.Key, "client.cert": target.client.Cert, "client.key": target.client.Key,
	} {
		if err := os.WriteFile(target.file(name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.Create(target.file("log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-bind_address", target.Address, "-config", target.file("config.json"),
		"-ca", target.file("ca"), "-cert", target.file("cert"), "-key", target.file("key"), "-username", User, "-password", Password)
	cmd.Stdout, cmd.Stderr = log, log
	ended, err := testserver.Launch(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		_ = log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("gnmi_target: %s", text[max(0, len(text)-4096):])
		}
	})
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := target.get("/"); err == nil {
			return target
		} else if time.Now().After(deadline) {
			t.Fatalf("gnmi_target does not answer: %v", err)
		}
	}
}

func (g *Target) file(name string) string { return filepath.Join(g.folder, name) }

// Key returns what a Secret for the target has, as nodrop reads it.
func (g *Target) Key(key string) ([]byte, error) {
	value, has := map[string][]byte{
		"user": []byte(User), "password": []byte(Password + "\n"),
		"certificates": g.device.Cert, "clientCertificate": g.client.Cert, "privateKey": g.client.Key,
	}[key]
	if !has {
		return nil, fs.ErrNotExist
	}
	return value, nil
}

// Authority returns the certificate of the authority that signed that of the target.
func (g *Target) Authority() []byte { return g.client.CA }

// Named returns an address with the name that the certificate of the target has. No name server knows it.
func (g *Target) Named() string {
	_, port, _ := net.SplitHostPort(g.Address)
	return net.JoinHostPort(pki.AgentName(owner, 0), port)
}

// OtherCertificate returns a certificate that the target does not have.
func OtherCertificate(t testing.TB) []byte {
	t.Helper()
	b, err := pki.IssueServer([]string{"other.example"}, time.Now(), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return b.Cert
}

// run runs a client of gnxi, and returns what it prints.
func (g *Target) run(program string, args ...string) (string, error) {
	program = testserver.Binary(g.t, program, "gNMI client", "hack/gnxi/build")
	cmd := exec.Command(program, append([]string{
		"-target_addr", g.Address, "-target_name", pki.AgentName(owner, 0), "-username", User, "-password", Password,
		"-ca", g.file("ca"), "-cert", g.file("client.cert"), "-key", g.file("client.key"),
	}, args...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (g *Target) get(path string) (*gnmi.GetResponse, error) {
	out, err := g.run("gnmi_get", "-xpath", path)
	if err != nil {
		return nil, err
	}
	_, text, _ := strings.Cut(out, "== GetResponse:")
	answer := &gnmi.GetResponse{}
	return answer, prototext.Unmarshal([]byte(text), answer)
}

// Running is the configuration as gnxi's client prints it.
func (g *Target) Running() string {
	g.t.Helper()
	answer, err := g.get("/")
	if err != nil {
		g.t.Fatal(err)
	}
	return string(answer.Notification[0].Update[0].GetVal().GetJsonIetfVal())
}

// Update sets a value by gnxi's client: "/interfaces/interface[name=e1]/state/counters/in-discards:\"37\"".
func (g *Target) Update(values ...string) {
	g.t.Helper()
	var args []string
	for _, v := range values {
		args = append(args, "-update", v)
	}
	if out, err := g.run("gnmi_set", args...); err != nil {
		g.t.Fatalf("gnmi_set: %v: %s", err, out)
	}
}
