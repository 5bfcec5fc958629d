package pki

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	now      = time.Now()
	deadline = now.Add(time.Hour)
)

func issue(t *testing.T, now, deadline time.Time) Set {
	t.Helper()
	s, err := Issue("uid-1", 2, now, deadline)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// handshake connects the two over loopback and returns what each end says.
func handshake(t *testing.T, server *tls.Config, dial func(net.Conn) error) (serverErr, clientErr error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			done <- err
			return
		}
		defer conn.Close()
		c := tls.Server(conn, server)
		if err := c.Handshake(); err != nil {
			done <- err
			return
		}
		_, err = c.Write([]byte("hello"))
		done <- err
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	clientErr = dial(conn)
	conn.Close()
	return <-done, clientErr
}

// read finishes a client's side: in TLS 1.3 the server's refusal comes with the
// first read.
func read(config *tls.Config) func(net.Conn) error {
	return func(conn net.Conn) error {
		buffer := make([]byte, 5)
		_, err := io.ReadFull(tls.Client(conn, config), buffer)
		if err == nil && string(buffer) != "hello" {
			return errors.New("garbage")
		}
		return err
	}
}

func config(t *testing.T) func(*tls.Config, error) *tls.Config {
	return func(c *tls.Config, err error) *tls.Config {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
}

func TestEveryPartTalksToItsPeer(t *testing.T) {
	s := issue(t, now, deadline)
	must := config(t)
	for name, pair := range map[string][2]*tls.Config{
		"operator to runner": {must(s.Runner.ServerConfig(OperatorName("uid-1"))), must(s.Operator.ClientConfig(RunnerName("uid-1")))},
		"runner to agent 0":  {must(s.Agents[0].ServerConfig(RunnerName("uid-1"))), must(s.Runner.ClientConfig(AgentName("uid-1", 0)))},
		"runner to agent 1":  {must(s.Agents[1].ServerConfig(RunnerName("uid-1"))), must(s.Runner.ClientConfig(AgentName("uid-1", 1)))},
	} {
		t.Run(name, func(t *testing.T) {
			serverErr, clientErr := handshake(t, pair[0], read(pair[1]))
			if serverErr != nil || clientErr != nil {
				t.Fatalf("server: %v, client: %v", serverErr, clientErr)
			}
		})
	}
}

func TestStrangersAreRefused(t *testing.T) {
	s := issue(t, now, deadline)
	other := issue(t, now, deadline)
	expired := issue(t, now.Add(-margin-6*time.Hour), now.Add(-margin-2*time.Hour))
	must := config(t)
	agent := must(s.Agents[0].ServerConfig(RunnerName("uid-1")))
	toAgent := AgentName("uid-1", 0)
	oldTLS := must(s.Runner.ClientConfig(toAgent))
	oldTLS.MinVersion, oldTLS.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	// The client of a stranger trusts the right server, so that only the server
	// can refuse.
	mixed := func(client Bundle) *tls.Config {
		client.CA = s.Runner.CA
		return must(client.ClientConfig(toAgent))
	}
	plain := func(conn net.Conn) error {
		_, err := conn.Write([]byte("GET /v1/state HTTP/1.1\r\n\r\n"))
		return err
	}
	anonymous := must(s.Runner.ClientConfig(toAgent))
	anonymous.Certificates = nil
	for name, c := range map[string]struct {
		server         *tls.Config
		dial           func(net.Conn) error
		wantServer     string
		wantClient     string
		clientMayAgree bool
	}{
		"client of another benchmark": {server: agent, dial: read(mixed(other.Runner)), wantServer: "unknown authority", wantClient: "tls:"},
		"server of another benchmark": {server: must(other.Agents[0].ServerConfig(RunnerName("uid-1"))), dial: read(must(s.Runner.ClientConfig(toAgent))), wantServer: "bad certificate", wantClient: "unknown authority"},
		"client with another name":    {server: agent, dial: read(must(s.Operator.ClientConfig(toAgent))), wantServer: `the client is "operator.uid-1.nodrop", but only runner.uid-1.nodrop is trusted`, wantClient: "tls:"},
		"server with another name":    {server: must(s.Agents[1].ServerConfig(RunnerName("uid-1"))), dial: read(must(s.Runner.ClientConfig(toAgent))), wantServer: "bad certificate", wantClient: "agent-0.uid-1.nodrop"},
		"agent posing as a runner":    {server: agent, dial: read(must(s.Agents[1].ClientConfig(toAgent))), wantServer: "incompatible key usage", wantClient: "tls:"},
		"operator posing as a runner": {server: must(s.Operator.ServerConfig(OperatorName("uid-1"))), dial: read(must(s.Operator.ClientConfig(OperatorName("uid-1")))), wantServer: "bad certificate", wantClient: "incompatible key usage"},
		"expired client":              {server: agent, dial: read(mixed(expired.Runner)), wantServer: "expired", wantClient: "tls:"},
		"expired server":              {server: must(expired.Agents[0].ServerConfig(RunnerName("uid-1"))), dial: read(must(expired.Runner.ClientConfig(toAgent))), wantServer: "bad certificate", wantClient: "expired"},
		"client without certificate":  {server: agent, dial: read(anonymous), wantServer: "didn't provide a certificate", wantClient: "certificate required"},
		"client without TLS":          {server: agent, dial: plain, wantServer: "does not look like a TLS handshake", clientMayAgree: true},
		"client with TLS 1.2":         {server: agent, dial: read(oldTLS), wantServer: "unsupported versions", wantClient: "protocol version"},
	} {
		t.Run(name, func(t *testing.T) {
			serverErr, clientErr := handshake(t, c.server, c.dial)
			if serverErr == nil || !strings.Contains(serverErr.Error(), c.wantServer) {
				t.Errorf("the server says %v, want something with %q", serverErr, c.wantServer)
			}
			if c.clientMayAgree {
				return
			}
			if clientErr == nil || !strings.Contains(clientErr.Error(), c.wantClient) {
				t.Errorf("the client says %v, want something with %q", clientErr, c.wantClient)
			}
		})
	}
}

func TestCertificatesEndWithTheBenchmark(t *testing.T) {
	s := issue(t, now, deadline)
	pool, cert, err := s.Runner.parse()
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		at   time.Time
		want bool
	}{
		"a node whose clock is behind": {now.Add(-5 * time.Minute), true},
		"now":                          {now, true},
		"during the clean-up":          {deadline.Add(30 * time.Minute), true},
		"a week without an operator":   {deadline.Add(margin - time.Hour), true},
		"much later":                   {deadline.Add(margin + time.Hour), false},
		"much earlier":                 {now.Add(-time.Hour), false},
	} {
		_, err := leaf.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: c.at})
		if (err == nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Issue("uid-1", 1, now, now.Add(-time.Second)); err == nil || !strings.Contains(err.Error(), "has passed") {
		t.Errorf("a passed deadline gives %v", err)
	}
}

func TestBundlesSurviveSecretsAndFiles(t *testing.T) {
	want := issue(t, now, deadline).Agents[1]
	dir := t.TempDir()
	for name, content := range want.Data() {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := LoadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if string(got.CA) != string(want.CA) || string(got.Cert) != string(want.Cert) || string(got.Key) != string(want.Key) {
		t.Error("the bundle changed on its way through the files")
	}
	if err := os.Remove(filepath.Join(dir, KeyFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadDir(dir); err == nil || !strings.Contains(err.Error(), "tls.key") {
		t.Errorf("a missing file gives %v", err)
	}
	if _, err := FromData(map[string][]byte{CAFile: want.CA}); err == nil || !strings.Contains(err.Error(), "tls.crt is missing") {
		t.Errorf("a missing key gives %v", err)
	}
	if _, err := (Bundle{CA: want.CA, Cert: want.Cert, Key: want.CA}).ClientConfig("x"); err == nil {
		t.Error("a certificate in place of the key is taken")
	}
}

func TestRunnerUID(t *testing.T) {
	for name, want := range map[string]string{
		RunnerName("0af3-1"): "0af3-1", RecorderName: "", OperatorName("1"): "", AgentName("1", 0): "", "runner.nodrop": "", "runner..nodrop": "", "": "",
	} {
		if uid, is := RunnerUID(name); is != (want != "") || is && uid != want {
			t.Errorf("%q: %q, %t, want %q", name, uid, is, want)
		}
	}
}
