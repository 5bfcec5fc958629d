package linux_test

import (
	"fmt"
	"net"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/dut/telemetry/linux"
	"nodrop.dev/nodrop/internal/testkit/namespacetest"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// TestOpenVSwitch has a flow of Debian's Open vSwitch and the lack of one drop frames, each another number of them.
func TestOpenVSwitch(t *testing.T) {
	namespacetest.Enter(t)
	run(t, "ip link set lo up")
	o := sshrouter.StartOpenVSwitch(t)
	o.Cable("nd-e1", "e1")
	o.AddPort("e1", 1)
	run(t, "ip link set nd-e1 up", "ip address add 198.18.1.2/24 dev nd-e1", "ip neighbor add 198.18.1.1 lladdr 02:00:00:00:00:01 dev nd-e1")
	o.Run("ovs-ofctl", "-O", "OpenFlow13", "add-flow", sshrouter.Bridge, "table=0,priority=10,udp,tp_dst=7,actions=drop")
	o.Run("ovs-ofctl", "-O", "OpenFlow13", "add-flow", sshrouter.Bridge, "table=0,priority=10,udp,tp_dst=8,actions=goto_table:1")
	r, err := linux.New(o.Access(), []string{"e1"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	before, err := r.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sent := map[string]uint64{`drops by flow "priority=10,udp,tp_dst=7" of br0`: 41, "frames without a flow in table 1 of br0": 23}
	for port, frames := range map[int]uint64{7: 41, 8: 23} {
		conn, err := net.Dial("udp", fmt.Sprintf("198.18.1.1:%d", port))
		if err != nil {
			t.Fatal(err)
		}
		for range frames {
			if _, err := conn.Write(make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
		}
		_ = conn.Close()
	}
	// The counters are late.
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		after, err := r.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		wrong := ""
		for name, n := range sent {
			if got := after.Counters[name].Since(before.Counters[name]); got != n {
				wrong += fmt.Sprintf("%s grew by %d, want %d; ", name, got, n)
			}
		}
		if wrong == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s%+v\n%s", wrong, after.Counters, o.Run("ovs-ofctl", "-O", "OpenFlow13", "dump-tables", sshrouter.Bridge))
		}
	}
}
