package capability

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
)

const (
	// astfMTU is the largest MTU of hosts of TRex: its packet sockets and its cards are set up for it.
	astfMTU = 1500
	// astfLeastTimeout is the least time after which TRex drops a connection that is not established.
	astfLeastTimeout = 2 * time.Second
	// astfShortest and astfLongest bound the time in which the connections of a trial are opened. Counters are read some times in
	// it, and a program holds a connection for at most 71 minutes.
	astfShortest, astfLongest = 100 * time.Millisecond, time.Hour
)

// ASTFControls are the congestion controls of a TRex server in mode ASTF, in the order of its numbers.
var ASTFControls = []string{"reno", "cubic"}

// ASTF reports what a TRex server in mode ASTF does not do or count of a test of hosts. Member is the field of the test, path its
// path, and ports are the names of the ports: clients are on the first one, and servers on the second one.
func ASTF(test v1alpha1.Test, member string, ports [2]string, path *field.Path) field.ErrorList {
	switch {
	case test.Connections != nil:
		return astfConnections(test.Connections, ports, path)
	case test.Bulk != nil:
		return astfBulk(test.Bulk, path)
	}
	return field.ErrorList{field.Invalid(path, test.Name, fmt.Sprintf("engine trex counts connections and bytes of TCP in total, from which %s does not follow: choose a bed with engine xdp", member))}
}

func astfConnections(t *v1alpha1.ConnectionsTest, ports [2]string, path *field.Path) (errs field.ErrorList) {
	const other = "choose a bed with engine xdp"
	if t.Measure != v1alpha1.ConnectionsSetUpRate {
		errs = append(errs, field.Invalid(path.Child("measure"), t.Measure, "engine trex counts all connections together, and not how many are open at once or when each was closed: give SetUpRate, or "+other))
	}
	if t.Protocol == v1alpha1.ConnectionsUDP {
		errs = append(errs, field.Invalid(path.Child("protocol"), t.Protocol, "engine trex does not verify connections of UDP: give TCP, or "+other))
	}
	for _, f := range []struct {
		name  string
		value int32
	}{{"clients", t.Clients}, {"servers", t.Servers}} {
		if f.value != 1 {
			errs = append(errs, field.Invalid(path.Child(f.name), f.value, "engine trex answers ARP for the address of a port only, which its host has: give 1, or "+other))
		}
	}
	for _, f := range []struct {
		name, value, has string
	}{{"client", t.Client, ports[0]}, {"server", t.Server, ports[1]}} {
		if f.value != "" && f.value != f.has {
			errs = append(errs, field.Invalid(path.Child(f.name), f.value, fmt.Sprintf("engine trex has clients on the first port of the bed and servers on the second one: give %s, or leave it out", f.has)))
		}
	}
	if t.Timeout != nil && (t.Timeout.Duration < astfLeastTimeout || t.Timeout.Duration%time.Second != 0) {
		errs = append(errs, field.Invalid(path.Child("timeout"), t.Timeout.Duration.String(), fmt.Sprintf("engine trex counts this time in seconds: give whole seconds, %s or more", astfLeastTimeout)))
	}
	opening := func(rate int32) time.Duration {
		return time.Duration(float64(t.Connections) / float64(max(1, rate)) * float64(time.Second))
	}
	if d := opening(t.MaximumRate); d < astfShortest {
		errs = append(errs, field.Invalid(path.Child("connections"), t.Connections, fmt.Sprintf("at maximumRate %d they are open after %s, in which the counters of engine trex do not show the rate: give %d or more, or a lower maximumRate",
			t.MaximumRate, d, int64(t.MaximumRate)*int64(astfShortest)/int64(time.Second))))
	}
	if d := opening(t.MinimumRate); d > astfLongest {
		errs = append(errs, field.Invalid(path.Child("minimumRate"), t.MinimumRate, fmt.Sprintf("%d connections take %s, and engine trex holds one for %s at most: give %d or more, or fewer connections",
			t.Connections, d, astfLongest, int64(t.Connections)*int64(time.Second)/int64(astfLongest)+1)))
	}
	return errs
}

func astfBulk(t *v1alpha1.BulkTest, path *field.Path) (errs field.ErrorList) {
	if t.Duration.Duration > 0 {
		errs = append(errs, field.Invalid(path.Child("duration"), t.Duration.Duration.String(), "engine trex moves a data set: give size in its place"))
	}
	if t.Connections != 1 {
		errs = append(errs, field.Invalid(path.Child("connections"), t.Connections, "engine trex counts the bytes of all connections together, and not of each: give 1, or choose a bed with engine xdp"))
	}
	if t.MTU > astfMTU {
		errs = append(errs, field.Invalid(path.Child("mtu"), t.MTU, fmt.Sprintf("the hosts of engine trex send packets of at most %d bytes: give %d or less", astfMTU, astfMTU)))
	}
	if t.CongestionControl != "" && !slices.Contains(ASTFControls, t.CongestionControl) {
		errs = append(errs, field.NotSupported(path.Child("congestionControl"), t.CongestionControl, ASTFControls))
	}
	return errs
}
