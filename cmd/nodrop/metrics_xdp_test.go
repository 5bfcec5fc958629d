package main

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/base/processors"
	"nodrop.dev/nodrop/internal/testkit/longtest"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// A run whose process is in a network namespace of its own writes to a database outside,
// which it finds by name, every interval of its trial.
func TestRunXDPWritesToInfluxDB(t *testing.T) {
	longtest.Skip(t, "TestRunOverLearntRoutes, which writes to InfluxDB")
	needsRoot(t)
	db := testserver.StartInflux(t, testserver.Influx16)
	const tests = `  - name: soak
    soak: {load: 1%, duration: 2s}
`
	head, _, _ := strings.Cut(xdpBenchmark, "  - name:")
	file := manifests(t, head+tests, strings.Replace(xdpManifests, "[128, 9216]", "[128]", 1))
	p := startWithToken(t, testserver.InfluxUser+":"+testserver.InfluxPassword, t.TempDir(), "run", "-f", file, "-o", "json",
		"--metrics", strings.Replace(db.URL, "127.0.0.1", "localhost", 1), "--metrics-database", testserver.InfluxDatabase, "--metrics-interval", "100ms")
	p.measures("")
	document := resultOf(t, p)
	row := document.Rows[0]
	rows := db.InfluxQL(`SELECT * FROM nodrop_row`)
	if len(rows) != 1 || number(t, rows[0]["frames_sent"]) != row.Frames.Sent || number(t, rows[0]["frames_received"]) != row.Frames.Received {
		t.Errorf("%v, want the row %+v", rows, row.Frames)
	}
	samples := db.InfluxQL(`SELECT * FROM nodrop_port`)
	by := map[any]int64{}
	for _, sample := range samples {
		by[sample["port"]] += number(t, sample["sent"])
		if sample["received"] == nil || sample["interval_ns"] == nil {
			t.Errorf("a sample lacks columns: %v", sample)
		}
	}
	// A trial can have been repeated. The last interval of each ends with it, and may be
	// missing.
	var trials int64
	for _, trial := range db.InfluxQL(`SELECT sent FROM nodrop_trial`) {
		trials += number(t, trial["sent"])
	}
	if sent := by["p1"] + by["p2"]; len(by) != 2 || sent > trials || sent < trials/2 {
		t.Errorf("%v sent by the samples, and %d by the trials", by, trials)
	}
	seesDevice(t, db, by)
}

// seesDevice looks at what the samples say of the Linux router between the ports: it received
// what they sent, with a few frames of its kernel's own.
func seesDevice(t *testing.T, db *testserver.Influx, sent map[any]int64) {
	t.Helper()
	received, busy := map[any]int64{}, 0
	for _, p := range db.InfluxQL(`SELECT * FROM nodrop_device`) {
		if p["port"] != nil {
			received[p["port"]] += number(t, p["rx_frames"])
			continue
		}
		if busy++; number(t, p["cpu_ppm"]) > 1_000_000 || number(t, p["softirq_ppm"]) > number(t, p["cpu_ppm"]) {
			t.Errorf("%v", p)
		}
	}
	for port, n := range sent {
		if got := received[port]; len(received) != len(sent) || got < n*99/100 || got > n*101/100+100 {
			t.Errorf("ports sent %v, and the device received %v", sent, received)
		}
	}
	if usable, err := processors.Usable(); err != nil || len(usable) > 1 && busy == 0 {
		t.Errorf("nothing is known of the device's own processors (%v)", err)
	}
}
