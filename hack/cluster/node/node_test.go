package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func testCluster(t *testing.T) *cluster {
	t.Helper()
	dir := t.TempDir()
	c, err := newCluster(filepath.Join(dir, "cache"), filepath.Join(dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClustersDoNotShareACgroup(t *testing.T) {
	if a, b := testCluster(t), testCluster(t); a.group == b.group {
		t.Errorf("both are called %s", a.group)
	}
	if _, err := newCluster("relative", "/state"); err == nil {
		t.Error("a relative folder was accepted")
	}
}

func TestCertificatesOfTheAPIServer(t *testing.T) {
	dir := t.TempDir()
	if err := writePKI(dir); err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "apiserver.crt"), filepath.Join(dir, "apiserver.key"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kubernetes.default.svc", nodeIP, kubernetesIP, "127.0.0.1"} {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: authorityOf(t, dir), DNSName: name}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, network, _ := net.ParseCIDR(serviceRange); !network.Contains(net.ParseIP(kubernetesIP)) {
		t.Errorf("%s is not in %s", kubernetesIP, serviceRange)
	}
}

func TestUsersOfTheKubeconfigs(t *testing.T) {
	dir := t.TempDir()
	if err := writePKI(dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		user   string
		groups []string
	}{
		"admin":   {"admin", []string{"system:masters"}},
		"kubelet": {"system:node:node1", []string{"system:nodes"}},
		"multus":  {"nodrop:multus", nil}, // the name that has rights in manifests/multus.yaml
	} {
		content, err := os.ReadFile(filepath.Join(dir, name+".kubeconfig"))
		if err != nil {
			t.Fatal(err)
		}
		data := regexp.MustCompile(`client-certificate-data: ([^ ,]+)`).FindSubmatch(content)
		decoded, err := base64.StdEncoding.DecodeString(string(data[1]))
		if err != nil {
			t.Fatal(err)
		}
		block, _ := pem.Decode(decoded)
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		usage := x509.VerifyOptions{Roots: authorityOf(t, dir), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
		if _, err := certificate.Verify(usage); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if certificate.Subject.CommonName != want.user || !slices.Equal(certificate.Subject.Organization, want.groups) {
			t.Errorf("%s is user %q in %q", name, certificate.Subject.CommonName, certificate.Subject.Organization)
		}
	}
}

func authorityOf(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(content) {
		t.Fatal("ca.crt holds no certificate")
	}
	return pool
}

func TestProcessIsKnownByItsStart(t *testing.T) {
	child := exec.Command("sleep", "100")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	p, err := findProcess(child.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if !p.running() {
		t.Error("a running process counts as ended")
	}
	if (process{p.PID, p.Start + "0"}).running() {
		t.Error("another process under the same number counts as the node")
	}
	if err := p.kill(); err != nil {
		t.Fatal(err)
	}
	if p.running() { // not yet waited for: a zombie
		t.Error("a killed process counts as running")
	}
	_ = child.Wait()
	if err := p.kill(); err != nil {
		t.Errorf("killing what is gone: %v", err)
	}
}

func TestPrioritiesOfTheMachineComeBack(t *testing.T) {
	threads, err := kernelThreads(func(t thread) bool { return t.Name == "ksoftirqd/0" && t.Nice != mostPreferred })
	if err != nil {
		t.Fatal(err)
	}
	if len(threads) == 0 || os.Geteuid() != 0 {
		t.Skip("skipped: the kernel's threads are not seen, or may not be changed")
	}
	r := &record{Preferred: threads}
	if err := prefer(threads); err != nil {
		t.Fatal(err)
	}
	left, err := (leftovers{record: r}).priorities()
	if err != nil || len(left) != 1 || !strings.Contains(left[0], "ksoftirqd/0") {
		t.Errorf("preferred: left are %q, %v", left, err)
	}
	if err := restore(threads); err != nil {
		t.Fatal(err)
	}
	if left, err = (leftovers{record: r}).priorities(); err != nil || len(left) > 0 {
		t.Errorf("afterwards: left are %q, %v", left, err)
	}
	if now, ok := kernelThread(threads[0].PID); !ok || now != threads[0] {
		t.Errorf("afterwards it is %+v, before %+v", now, threads[0])
	}
}

func TestCheckCleanSeesWhatIsLeft(t *testing.T) {
	c := testCluster(t)
	if err := c.checkClean(); err != nil {
		t.Errorf("before anything was started: %v", err)
	}
	if err := os.MkdirAll(string(c.state), 0o755); err != nil {
		t.Fatal(err)
	}
	interfaces, entries, err := inventory()
	if err != nil {
		t.Fatal(err)
	}
	// As if this test were a process of the node's, and /etc/passwd and lo its leavings.
	own, err := namespaces(os.Getppid())
	if err != nil {
		t.Fatal(err)
	}
	without := func(all []string, one string) []string {
		return slices.DeleteFunc(all, func(s string) bool { return s == one })
	}
	r := &record{Namespaces: own[:1], Interfaces: without(interfaces, "lo"), Entries: without(entries, "/etc/passwd")}
	if err := c.state.writeRecord(r); err != nil {
		t.Fatal(err)
	}
	err = c.checkClean()
	if err == nil {
		t.Fatal("found nothing")
	}
	for _, want := range []string{"process ", "network interface lo", "\n  /etc/passwd", "state " + string(c.state)} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
}

func TestSupervisorStartsAgain(t *testing.T) {
	dir := t.TempDir()
	s := newSupervisor(dir, []string{"PATH=" + os.Getenv("PATH")})
	// Each run adds a line, and the second waits to be ended with the test.
	script := `echo run; [ $(grep -c run "$0") -lt 2 ] || exec sleep 100`
	if err := s.run(daemon{"sh", []string{"-c", script, filepath.Join(dir, "sh.log")}}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		log, _ := os.ReadFile(filepath.Join(dir, "sh.log"))
		if strings.Count(string(log), "run\n") == 2 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("not started a second time; log: %q", log)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	pids := slices.Collect(maps.Keys(s.running))
	clear(s.running) // what is not registered is reaped but not started again
	for _, pid := range pids {
		p, err := findProcess(pid)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.kill(); err != nil {
			t.Error(err)
		}
	}
}
