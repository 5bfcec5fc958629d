package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/lab/standalone"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/testkit/fakeastf"
	"nodrop.dev/nodrop/internal/traffic/trex/server"
)

// fakeASTFBehavior is the variable with what a fake TRex server in mode ASTF does, as JSON.
const fakeASTFBehavior = "NODROP_TEST_FAKE_ASTF"

// fakeASTFServer is a fake TRex server in mode ASTF: it answers at the port of its configuration until it is interrupted, and
// sends no packets.
func fakeASTFServer() int {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	if !slices.Contains(os.Args, "--astf") {
		fmt.Println("fake server: started without --astf")
		return 7
	}
	var files []struct {
		RPCPort int `json:"zmq_rpc_port"`
	}
	var behavior fakeastf.Behavior
	text, err := os.ReadFile(os.Args[2]) // after --cfg
	if err == nil {
		err = yaml.Unmarshal(text, &files)
	}
	if err == nil {
		err = json.Unmarshal([]byte(os.Getenv(fakeASTFBehavior)), &behavior)
	}
	var f *fakeastf.Server
	if err == nil {
		f, err = fakeastf.Serve(fmt.Sprintf("tcp://127.0.0.1:%d", files[0].RPCPort), behavior)
	}
	if err != nil {
		fmt.Println("fake server:", err)
		return 1
	}
	<-interrupted
	f.Down()
	if _, problems := f.Calls(); len(problems) > 0 || len(f.Left()) > 0 {
		fmt.Printf("fake server: wrong requests %q, left %q\n", problems, f.Left())
		return 1
	}
	return 0
}

// onFakeASTF prepares a run of the sample trex-hosts, with changes, on a fake server.
func onFakeASTF(t *testing.T, b fakeastf.Behavior, changes ...string) *process {
	t.Helper()
	needsRoot(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "benchmark.yaml")
	if err := os.Symlink(self, filepath.Join(dir, server.Binary)); err != nil {
		t.Fatal(err)
	}
	changed := changedSample(t, "trex-hosts", append([]string{"connections: 20000", "connections: 1000", "maximumRate: 50000", "maximumRate: 4000", "size: 1000000000", "size: 5000000"}, changes...)...)
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	p := prepare(t, "nodrop", "run", "--trex", dir, "-f", file, "-o", "json")
	p.cmd.Env = append(p.cmd.Env, fakeASTFBehavior+"="+string(text))
	return p
}

// astfRows runs the sample on a fake server, and returns its rows of connections and of data.
func astfRows(t *testing.T, b fakeastf.Behavior, changes ...string) (_ *report.Document, connections, bulk v1alpha1.ResultRow) {
	t.Helper()
	p := onFakeASTF(t, b, changes...)
	p.begin()
	p.measures("")
	var document report.Document
	if err := json.Unmarshal([]byte(p.stdout.String()), &document); err != nil {
		t.Fatalf("%v\n%s\n%s", err, &p.stdout, &p.stderr)
	}
	rows := byMethod(t, &document, map[v1alpha1.Method]int{v1alpha1.MethodConnections: 1, v1alpha1.MethodBulk: 1})
	connections, bulk = rows[v1alpha1.MethodConnections][0], rows[v1alpha1.MethodBulk][0]
	t.Logf("%+v: %s, %s %q", connections.Connections, connections.Message, connections.Validity, connections.ValidityReasons)
	t.Logf("%+v: %s, %s %q", bulk.Bulk, bulk.Message, bulk.Validity, bulk.ValidityReasons)
	return &document, connections, bulk
}

// TestRunHostsOnTRex measures the sample trex-hosts with less data on a fake server, which counts as if the device passed 2,500
// connections/s and 80 Mbit/s: a whole run over the server's RPC, with the rows of the kernel's hosts.
func TestRunHostsOnTRex(t *testing.T) {
	t.Parallel() // Its server sends no frames.
	document, connections, bulk := astfRows(t, fakeastf.Behavior{DeviceConnections: 2500, BitsPerSecond: 80e6, CPU: 40})
	s, d := connections.Connections, bulk.Bulk
	if s.SetUpRate == nil || *s.SetUpRate != 2000 || s.FailedRate != 3000 || s.Attempted != 1000 || s.Verified != 1000 || s.Closed != 1000 || s.OpenRetransmissions != 0 || s.BusyPPM != 400_000 || s.SetUpMaxNs != 0 {
		t.Errorf("%+v", s)
	}
	if want := "at 3,000 connections/s 167 of 1,000 connections were not established in time"; !strings.Contains(connections.Message, want) {
		t.Errorf("message %q lacks %q", connections.Message, want)
	}
	if d.SentBytes != 5_000_000 || d.ReceivedBytes != 5_000_000 || d.LostConnections != 0 || d.GoodputBitsPerSecond < 79_900_000 || d.GoodputBitsPerSecond > 80_100_000 || d.CongestionControl != "reno" || d.MTU != 1500 || d.SenderCPUPPM != nil {
		t.Errorf("%+v", d)
	}
	for _, row := range []v1alpha1.ResultRow{connections, bulk} {
		if row.Validity != v1alpha1.ValidityVirtual {
			t.Errorf("%s: %s %q", row.Name(), row.Validity, row.ValidityReasons)
		}
	}
	consistent(t, document)
	env := document.Environment
	if want := "TRex v3.08, ASTF (TCP of its own), 1 transmit core"; env.Engine != v1alpha1.EngineTRex || !strings.HasPrefix(env.EngineDetail, want) {
		t.Errorf("engine %s, %q: want %q", env.Engine, env.EngineDetail, want)
	}
	file := filepath.Join(t.TempDir(), "result.json")
	text, err := json.Marshal(document)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, "report", file)
	p.wants(exit.Passed, "", "")
	for _, want := range []string{"set-up", "2,000", "goodput"} {
		if !strings.Contains(p.stdout.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, &p.stdout)
		}
	}
	t.Logf("%s", &p.stdout)
}

// A server that is the limit makes rows GeneratorBound, and data that is lost makes them Invalid.
func TestRunHostsOnALimitedTRex(t *testing.T) {
	t.Parallel() // Its server sends no frames.
	_, connections, bulk := astfRows(t, fakeastf.Behavior{OwnConnections: 1500, CPU: 99, BitsPerSecond: 80e6})
	if s := connections.Connections; s.SetUpRate == nil || *s.SetUpRate != 1000 || connections.Validity != v1alpha1.ValidityGeneratorBound || !strings.Contains(strings.Join(connections.ValidityReasons, "; "), "connections per second, and 2000 were asked for") {
		t.Errorf("%+v: %s %q", s, connections.Validity, connections.ValidityReasons)
	}
	if bulk.Validity != v1alpha1.ValidityGeneratorBound || !strings.Contains(strings.Join(bulk.ValidityReasons, "; "), "busy for 99 %") {
		t.Errorf("%s %q", bulk.Validity, bulk.ValidityReasons)
	}
}

// A run whose server lacks a counter, and one whose server does not run the profile, say why.
func TestRunHostsOnTRexFails(t *testing.T) {
	t.Parallel() // Its server sends no frames.
	for name, tc := range map[string]struct {
		behavior fakeastf.Behavior
		code     int
		want     string
	}{
		"a missing counter":             {fakeastf.Behavior{Missing: []string{"tcps_accepts"}}, exit.Use, `has no counters ["tcps_accepts"], from which connections and goodput follow: use TRex v3.08`},
		"a profile that does not build": {fakeastf.Behavior{BuildError: "Pool has only 1 address"}, exit.Error, "TRex did not run the profile: Pool has only 1 address"},
	} {
		t.Run(name, func(t *testing.T) {
			p := onFakeASTF(t, tc.behavior)
			p.begin()
			p.wants(tc.code, "", "")
			if got := p.stdout.String() + p.stderr.String(); !strings.Contains(strings.ReplaceAll(got, `\"`, `"`), tc.want) {
				t.Errorf("%s\nlacks %q", got, tc.want)
			}
		})
	}
}

// A real server, if one is given, moves data and opens connections through the router of the sample.
func TestSampleOfHostsOnTRex(t *testing.T) {
	dir := needsTRex(t)
	file := filepath.Join(t.TempDir(), "benchmark.yaml")
	changed := changedSample(t, "trex-hosts", "connections: 20000", "connections: 2000", "maximumRate: 50000", "maximumRate: 2000", "size: 1000000000", "size: 50000000")
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, "run", "--trex", dir, "-f", file, "-o", "json")
	p.exit() // a busy machine measures without a conclusion
	var document report.Document
	if err := json.Unmarshal([]byte(p.stdout.String()), &document); err != nil {
		t.Fatalf("%v\n%s", err, &p.stderr)
	}
	rows := byMethod(t, &document, map[v1alpha1.Method]int{v1alpha1.MethodConnections: 1, v1alpha1.MethodBulk: 1})
	s, d := rows[v1alpha1.MethodConnections][0].Connections, rows[v1alpha1.MethodBulk][0].Bulk
	t.Logf("%s: %+v, %+v\n%s", standalone.TrexDirEnv, s, d, &p.stderr)
	if s.Attempted != 2000 || s.Established != s.Verified+s.Reset+s.Unanswered || s.Verified == 0 || d.ReceivedBytes != 50_000_000 || d.SentBytes != 50_000_000 || d.GoodputBitsPerSecond <= 0 {
		t.Errorf("%+v, %+v", s, d)
	}
	consistent(t, &document)
}
