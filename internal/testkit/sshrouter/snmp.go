package sshrouter

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gosnmp/gosnmp"

	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// Credentials of the SNMP agent: the community of version 2c, and the user and both passwords of version 3.
const (
	Community    = "lab-readers"
	SNMPUser     = "lab"
	SNMPPassword = "testing-123"
)

// Ends of the cable over which the SNMP agent is reached.
const (
	managementHere  = "198.18.255.1"
	managementThere = "198.18.255.2"
)

// ServeSNMP starts Debian's SNMP agent in the device, until the test ends, and returns its address. It is reached over a cable
// from this network namespace. Lines are further ones of its configuration.
func (l *Linux) ServeSNMP(lines ...string) string {
	l.t.Helper()
	const program = "/usr/sbin/snmpd"
	server := testserver.Binary(l.t, "snmpd"+program, "SNMP agent", "hack/snmpd/build")
	libraries, _ := filepath.Glob(filepath.Join(strings.TrimSuffix(server, program), "usr/lib/*-linux-gnu"))
	l.Cable("nd-management", "management")
	l.Run("ip", "address", "add", managementThere+"/30", "dev", "management")
	for _, args := range [][]string{{"address", "add", managementHere + "/30", "dev", "nd-management"}, {"link", "set", "nd-management", "up"}} {
		l.output(exec.Command("ip", args...))
	}
	config := filepath.Join(l.folder, "snmpd.conf")
	text := "rwcommunity " + Community + "\ncreateUser " + SNMPUser + " SHA-256 " + SNMPPassword + " AES " + SNMPPassword + "\nrouser " + SNMPUser + " priv\n" + strings.Join(lines, "\n") + "\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
	address := managementThere + ":161"
	l.start("snmpd", "env", "LD_LIBRARY_PATH="+strings.Join(libraries, ":"), "SNMP_PERSISTENT_DIR="+l.folder,
		"nsenter", "--net", "--target", strconv.Itoa(l.pid), server, "-f", "-Lo", "-C", "-c", config, "udp:"+address)
	// Its counters of interfaces are up to 15 s old unless they are read anew each time.
	const lifetimeOfInterfaces = ".1.3.6.1.4.1.8072.1.5.3.1.2.1.3.6.1.2.1.2.2"
	client := &gosnmp.GoSNMP{Target: managementThere, Port: 161, Version: gosnmp.Version2c, Community: Community, Timeout: time.Second}
	var err error
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if err = client.Connect(); err != nil {
			continue
		}
		var answer *gosnmp.SnmpPacket
		answer, err = client.Set([]gosnmp.SnmpPDU{{Name: lifetimeOfInterfaces, Type: gosnmp.Integer, Value: 0}})
		_ = client.Conn.Close()
		if err == nil && answer.Error == gosnmp.NoError {
			return address
		}
	}
	l.t.Fatalf("snmpd does not answer: %v", err)
	return ""
}

// Drop has the device drop frames that come in at an interface and are longer than some bytes at layer 3: the kernel counts them
// as discards of the interface.
func (l *Linux) Drop(name string, longerThan int) {
	l.t.Helper()
	l.Run("ip", "link", "set", name, "mtu", strconv.Itoa(longerThan))
}

// DropInside has the device send frames that come in at an interface for a network through a cable of its own, at whose end
// frames that are longer than some bytes at layer 3 are discards of interface inside2.
func (l *Linux) DropInside(in, network string, longerThan int) {
	l.t.Helper()
	for _, command := range []string{
		"ip link add inside1 type veth peer name inside2", "ip link set inside1 up", "ip link set inside2 up", "ip address add 198.18.3.1/24 dev inside1",
		"ip link set inside2 address 02:00:00:00:03:02", "ip neighbor add 198.18.3.2 lladdr 02:00:00:00:03:02 dev inside1",
		"ip rule add iif " + in + " lookup 200", "ip route add " + network + " via 198.18.3.2 dev inside1 table 200",
	} {
		l.Run(strings.Fields(command)...)
	}
	l.Drop("inside2", longerThan)
}

// Counters are the statistics of an interface of the device as ip prints them.
func (l *Linux) Counters(name string) string {
	l.t.Helper()
	return l.Run("ip", "-s", "link", "show", name)
}
