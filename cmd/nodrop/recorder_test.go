//go:build !standalone

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/cmd/nodrop/inpod"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/reporting/metrics/metricstest"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// The points of a runner come to the database through a recorder that is started after the
// run has begun and is killed in between. The recorder has the token, and shows it nowhere.
func TestARunnerAndARecorder(t *testing.T) {
	sendsNoFrames(t)
	const token = "a-token-that-nobody-may-see"
	fake := metricstest.NewFake(t)
	authority, err := pki.NewAuthority(time.Now(), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	address, metrics := testserver.FreeAddress(t), testserver.FreeAddress(t)
	dir := t.TempDir()
	own, err := authority.Recorder()
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range own.Data() {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	spoolDir := filepath.Join(dir, "spool")
	record := func() *process {
		return start(t, "recorder", "--url", fake.URL, "--bucket", "lab", "--token-file", filepath.Join(dir, "token"), "--tls", dir, "--listen", address, "--spool-dir", spoolDir, "--spool-size", "64Mi", "--metrics-bind-address", metrics)
	}

	config := bundleConfig(t, "small", filepath.Dir(manifests(t, smallBenchmark, smallManifests)))
	config.Benchmark.UID = "0af3-1"
	config.Started = metav1.Now()
	b, err := authority.Runner(string(config.Benchmark.UID), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	config.Recorder = &runner.Recorder{Address: address, CA: b.CA, Cert: b.Cert, Key: b.Key, IntervalMilliseconds: 1000}
	points, err := inpod.OpenPoints(config, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	engine, err := runner.NewSim(config)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	state := runner.Run(t.Context(), config, engine, points.Options("sim", nil)...)
	if len(state.Rows) == 0 {
		t.Fatalf("%s: %s", state.Outcome, state.Message)
	}
	// The database is away until the first recorder is dead.
	fake.Set(func(metricstest.Request) (int, map[string]string, string, []int) { return 503, nil, token, nil })
	first := record()
	// close waits a few seconds only, which a busy machine may need to start the recorder.
	eventually(t, "the recorder to take all points", func() bool { return points.Stream.Counts().Queued == 0 },
		func() string { return first.stderr.String() })
	if err := points.Close(); err != nil {
		t.Fatalf("%v\n%s", err, &first.stderr)
	}
	// The point of the run counts among the rows.
	page := untilPageHas(t, metrics, own, "nodrop_recorder_sink_up 0", "nodrop_recorder_written_points_total 0", "nodrop_recorder_spool_limit_bytes 6.7108864e+07",
		fmt.Sprintf("nodrop_recorder_spooled_points{kind=\"row\"} %d", 1+len(state.Rows)), "go_goroutines")
	if strings.Contains(page, "last_success") || strings.Contains(page, "sink_failures_total 0\n") || strings.Contains(page, token) {
		t.Errorf("the page of a recorder without a database:\n%s", page)
	}
	_ = first.cmd.Process.Kill()
	first.exit()
	if len(fake.Points()) != 0 {
		t.Error("the fake stored points")
	}
	fake.Set(nil)
	second := record()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	rows := func() (n int) {
		for key := range fake.Points() {
			if strings.HasPrefix(key, "nodrop_row") {
				n++
			}
		}
		return n
	}
	for rows() < len(state.Rows) {
		select {
		case <-ctx.Done():
			t.Fatalf("%d of %d rows are there: %q\n%s", rows(), len(state.Rows), slices.Collect(maps.Keys(fake.Points())), &second.stderr)
		case <-time.After(20 * time.Millisecond):
		}
	}
	page = untilPageHas(t, metrics, own, "nodrop_recorder_sink_up 1", "nodrop_recorder_sink_last_success_timestamp_seconds 1.", `nodrop_recorder_spooled_points{kind="row"} 0`)
	if strings.Contains(page, "nodrop_recorder_written_points_total 0\n") {
		t.Errorf("the page of a recorder that has written:\n%s", page)
	}
	for _, r := range fake.Requests() {
		if r.Authorization != "Token "+token {
			t.Errorf("a request has the authorization %q", r.Authorization)
		}
	}
	_ = second.cmd.Process.Signal(os.Interrupt)
	if code := second.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	noToken(t, spoolDir, token, first)
	noToken(t, spoolDir, token, second)
}

// untilPageHas reads the recorder's own metrics, as Prometheus does with the authority from
// the Secret, until they have all of this.
func untilPageHas(t *testing.T, address string, own pki.Bundle, want ...string) string {
	t.Helper()
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(own.CA)
	c := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities, ServerName: pki.RecorderName}, DisableKeepAlives: true}}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for page := ""; ; {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := c.Do(request); err == nil {
			body, _ := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			page = string(body)
		}
		missing := slices.DeleteFunc(slices.Clone(want), func(line string) bool { return strings.Contains(page, line) })
		if len(missing) == 0 {
			return page
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the page lacks %q:\n%s", missing, page)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// A runner that replaces another one makes no points of the rows that it is given without
// their series, and the same points of all others.
func TestPointsOfARunnerThatGoesOn(t *testing.T) {
	sendsNoFrames(t)
	config := bundleConfig(t, "small", filepath.Dir(manifests(t, smallBenchmark, smallManifests)))
	config.Started = metav1.Now()
	authority, err := pki.NewAuthority(time.Now(), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	b, err := authority.Runner("1", time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	config.Recorder = &runner.Recorder{Address: "127.0.0.1:1", CA: b.CA, Cert: b.Cert, Key: b.Key, IntervalMilliseconds: 1000}
	points, err := inpod.OpenPoints(config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer points.Client.Close()
	given := v1alpha1.ResultRow{RowID: v1alpha1.RowID{Test: "throughput", Method: v1alpha1.MethodThroughput, FrameSize: 64}}
	points.Options("sim", []v1alpha1.ResultRow{given})
	if got := points.Stream.Counts().Queued; got != 1 {
		t.Errorf("%d points are queued, want that of the run", got)
	}
}

func TestRecorderThatCannotBegin(t *testing.T) {
	sendsNoFrames(t)
	for want, args := range map[string][]string{
		"needs a bucket":  {"--url", "http://influxdb:8086"},
		"--spool-size is": {"--url", "http://influxdb:8086", "--bucket", "lab", "--spool-size", "many"},
		"ca.crt":          {"--url", "http://influxdb:8086", "--bucket", "lab", "--tls", "/nowhere"},
	} {
		start(t, append([]string{"recorder"}, args...)...).wants(exit.Use, "", want)
	}
}
