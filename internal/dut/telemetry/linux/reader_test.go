package linux_test

import (
	"context"
	"maps"
	"net"
	"os/exec"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/dut/telemetry"
	"nodrop.dev/nodrop/internal/dut/telemetry/linux"
	"nodrop.dev/nodrop/internal/testkit/namespacetest"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// device is Linux in a network namespace, which is cabled to one for the test.
func device(t *testing.T) *sshrouter.Linux {
	t.Helper()
	namespacetest.Enter(t)
	run(t, "ip link set lo up")
	l := sshrouter.StartLinux(t)
	l.Cable("nd-e1", "e1")
	run(t, "ip address add 198.18.1.2/24 dev nd-e1", "ip link set nd-e1 up")
	l.Run("ip", "address", "add", "198.18.1.1/24", "dev", "e1")
	return l
}

func run(t *testing.T, commands ...string) {
	t.Helper()
	for _, c := range commands {
		args := strings.Fields(c)
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", c, err, out)
		}
	}
}

// send sends datagrams of UDP with some bytes to the device.
func send(t *testing.T, port string, frames, size int) {
	t.Helper()
	conn, err := net.Dial("udp", "198.18.1.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for range frames {
		_, _ = conn.Write(make([]byte, size)) // The device may answer that the port is closed.
	}
}

// Tests that have entered a namespace have no subtests: these run in other threads.

// TestCounters has an interface, a queue and two rules of the packet filter drop frames, each another number of them.
func TestCounters(t *testing.T) {
	l := device(t)
	l.Load("table inet lab {\n chain input {\n type filter hook input priority filter; policy accept;\n udp dport 7 counter drop\n udp dport 8 counter accept\n udp dport 11 counter reject\n }\n}\n")
	// A queue with a rate of one frame in ten seconds, which keeps one frame.
	l.Run("ip", "link", "add", "e2", "type", "veth", "peer", "name", "e3")
	l.Run("sysctl", "-qw", "net.ipv6.conf.e2.disable_ipv6=1") // A frame of IPv6 would have the queue.
	l.Run("ip", "link", "set", "e3", "up")
	l.Run("ip", "address", "add", "198.18.2.1/24", "dev", "e2")
	l.Run("ip", "link", "set", "e2", "up")
	l.Run("ip", "neighbor", "add", "198.18.2.2", "lladdr", "02:00:00:00:00:02", "dev", "e2")
	l.Run("tc", "qdisc", "add", "dev", "e2", "root", "handle", "1:", "htb", "default", "10")
	l.Run("tc", "class", "add", "dev", "e2", "parent", "1:", "classid", "1:10", "htb", "rate", "80bit", "burst", "100", "cburst", "100")
	l.Run("tc", "qdisc", "add", "dev", "e2", "parent", "1:10", "pfifo", "limit", "1")
	run(t, "ip route add 198.18.2.0/24 via 198.18.1.1")
	r, err := linux.New(l.Access(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	before := read(t, r)
	send(t, "7", 11, 100)
	send(t, "8", 13, 100)
	send(t, "11", 5, 100)
	through, err := net.Dial("udp", "198.18.2.2:9")
	if err != nil {
		t.Fatal(err)
	}
	for range 30 {
		_, _ = through.Write(make([]byte, 100))
	}
	_ = through.Close()
	l.Run("ip", "link", "set", "e1", "mtu", "1000")
	send(t, "8", 17, 1200)
	after := read(t, r)
	grown := map[string]uint64{}
	for name, c := range after.Counters {
		if n := c.Since(before.Counters[name]); n > 0 {
			grown[name] = n
		}
	}
	queued := grown["drops of queue htb of e2"]
	if queued < 25 || queued > 29 {
		t.Errorf("the queue dropped %d of 30 frames, want all but those that it keeps: %v", queued, grown)
	}
	delete(grown, "drops of queue htb of e2")
	want := map[string]uint64{
		`drops by rule "udp dport 7" in inet lab input`: 11, `drops by rule "udp dport 11" in inet lab input`: 5, "input discards of e1": 17,
	}
	if !maps.Equal(grown, want) {
		t.Errorf("%v, want %v\n%s", grown, want, l.Run("nft", "list", "ruleset"))
	}
	if after.Up <= 0 || after.Sensors["memory"].Unit != "%" || after.Sensors["processor 0"].Unit != "%" {
		t.Errorf("%+v", after.Sensors)
	}
}

// TestFacts asks Linux what it is.
func TestFacts(t *testing.T) {
	l := device(t)
	r, err := linux.New(l.Access(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	facts, err := r.Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.TrimSpace(l.Run("uname", "-sr")); !strings.HasSuffix(facts.Software, want) || !strings.HasPrefix(facts.Description, "Linux ") || facts.Up <= 0 {
		t.Errorf("%+v, want %s", facts, want)
	}
}

func read(t *testing.T, r *linux.Reader) *telemetry.Reading {
	t.Helper()
	reading, err := r.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return reading
}

// TestInterfaces reads the counters of the named interfaces only, and refuses a name that the device does not have.
func TestInterfaces(t *testing.T) {
	l := device(t)
	r, err := linux.New(l.Access(), []string{"e1"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for name := range read(t, r).Counters {
		if !strings.HasSuffix(name, " of e1") {
			t.Errorf("%s was read", name)
		}
	}
	other, err := linux.New(l.Access(), []string{"Ethernet9"})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Read(t.Context()); err == nil || !strings.Contains(err.Error(), `no interface "Ethernet9"`) {
		t.Errorf("%v", err)
	}
}

// TestAgain reads a device again whose connection was lost: one reading fails, and the next one connects.
func TestAgain(t *testing.T) {
	l := device(t)
	config := l.Access()
	var lost net.Conn
	config.Dial = func(ctx context.Context, network, address string) (_ net.Conn, err error) {
		lost, err = (&net.Dialer{}).DialContext(ctx, network, address)
		return lost, err
	}
	r, err := linux.New(config, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	read(t, r)
	_ = lost.Close()
	if _, err := r.Read(t.Context()); err == nil {
		t.Error("a reading succeeds on a lost connection")
	}
	read(t, r)
}
