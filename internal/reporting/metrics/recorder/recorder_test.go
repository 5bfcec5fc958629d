package recorder_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/reporting/metrics/delivery"
	"nodrop.dev/nodrop/internal/reporting/metrics/metricstest"
	"nodrop.dev/nodrop/internal/reporting/metrics/recorder"
	"nodrop.dev/nodrop/internal/reporting/metrics/sink"
	"nodrop.dev/nodrop/internal/reporting/metrics/spool"
	"nodrop.dev/nodrop/internal/testkit/testserver"
)

const uid = "0af3-1"

// logged is a log that can be read.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// lab is a recorder with its volume, whose parts can be stopped and started.
type lab struct {
	t         *testing.T
	authority pki.Authority
	dir       string
	address   string
	to        sink.Sink
	log       logged

	server   *recorder.Server
	spool    *spool.Spool
	delivery *delivery.Delivery
	end      context.CancelFunc
	ended    sync.WaitGroup
}

func newLab(t *testing.T, to sink.Sink) *lab {
	t.Helper()
	a, err := pki.NewAuthority(time.Now(), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return &lab{t: t, authority: a, dir: t.TempDir(), address: testserver.FreeAddress(t), to: to}
}

// start is the recorder's process.
func (l *lab) start() {
	l.t.Helper()
	var err error
	if l.spool, err = spool.Open(filepath.Join(l.dir, "spool.db"), 16<<20); err != nil {
		l.t.Fatal(err)
	}
	config, err := pki.RecorderConfig(l.authority.Recorder)
	if err != nil {
		l.t.Fatal(err)
	}
	listener, err := net.Listen("tcp", l.address)
	if err != nil {
		l.t.Fatal(err)
	}
	l.server = recorder.NewServer(l.spool, config)
	l.delivery = delivery.New(l.spool, l.to, slog.New(slog.NewTextHandler(&l.log, nil)), delivery.WithPause(func(int) time.Duration { return 5 * time.Millisecond }))
	ctx, end := context.WithCancel(context.Background())
	l.end = end
	l.ended.Go(func() { _ = l.server.Serve(listener) })
	l.ended.Go(func() { l.delivery.Run(ctx) })
}

// stop ends the process; what it has not written stays in its spool.
func (l *lab) stop() {
	l.t.Helper()
	l.end()
	l.server.Stop()
	l.ended.Wait()
	if err := l.spool.Close(); err != nil {
		l.t.Error(err)
	}
}

func (l *lab) dial(uid string) *recorder.Client {
	l.t.Helper()
	b, err := l.authority.Runner(uid, time.Now().Add(time.Hour))
	if err != nil {
		l.t.Fatal(err)
	}
	return l.dialWith(b)
}

func (l *lab) dialWith(b pki.Bundle) *recorder.Client {
	l.t.Helper()
	c, err := recorder.Dial(l.address, b)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = c.Close() })
	return c
}

// points are lines of a run, from one number up to another.
func points(measurement, uid string, from, to int) [][]byte {
	var all [][]byte
	for i := from; i < to; i++ {
		all = append(all, fmt.Appendf(nil, "nodrop_%s,bed=b run=%q,f=%di %d\n", measurement, uid, i, 1_700_000_000_000_000_000+i))
	}
	return all
}

// take hands points over, again and again until the recorder has them, as a stream does.
func take(t *testing.T, c *recorder.Client, rows, series [][]byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		err := c.Take(ctx, rows, series)
		if err == nil {
			return
		}
		if status.Code(errors.Unwrap(err)) != codes.Unavailable || ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

// A component is restarted while points flow, in every order, with a real database and a
// fake one: nothing is lost, nothing is there twice.
func TestRestartsInAllOrders(t *testing.T) {
	t.Parallel()
	for _, order := range [][]string{
		{"recorder", "sink", "runner"}, {"recorder", "runner", "sink"}, {"sink", "recorder", "runner"},
		{"sink", "runner", "recorder"}, {"runner", "recorder", "sink"}, {"runner", "sink", "recorder"},
	} {
		t.Run(strings.Join(order, ", "), func(t *testing.T) {
			t.Parallel()
			db := testserver.StartInflux(t, testserver.Influx16)
			to, err := sink.NewHTTP(sink.Config{URL: db.URL, API: sink.V1, Database: testserver.InfluxDatabase, Token: testserver.InfluxUser + ":" + testserver.InfluxPassword}, nil)
			if err != nil {
				t.Fatal(err)
			}
			l := newLab(t, to)
			l.start()
			runner := l.dial(uid)
			next := 0
			emit := func() {
				t.Helper()
				take(t, runner, points("row", uid, next, next+3), points("port", uid, next, next+50))
				next += 50
			}
			emit()
			down := map[string]bool{}
			// All go down one after the other, while points come as long as they can,
			// and come back in the same order.
			for _, part := range order {
				switch part {
				case "recorder":
					l.stop()
				case "sink":
					db.Stop()
				case "runner":
					_ = runner.Close()
				}
				down[part] = true
				if !down["recorder"] && !down["runner"] {
					emit()
				}
			}
			for _, part := range order {
				switch part {
				case "recorder":
					l.start()
				case "sink":
					db.Resume()
				case "runner":
					runner = l.dial(uid)
				}
				down[part] = false
				if !down["recorder"] && !down["runner"] {
					// A runner that starts again hands its rows over again.
					take(t, runner, points("row", uid, 0, 3), nil)
					emit()
				}
			}
			l.empty()
			l.stop()
			for measurement, want := range map[string]int{"nodrop_row": 3 * next / 50, "nodrop_port": next} {
				rows := db.InfluxQL("SELECT count(f) AS count, count(distinct(f)) AS different FROM " + measurement)
				if len(rows) != 1 || fmt.Sprint(rows[0]["count"]) != fmt.Sprint(want) || fmt.Sprint(rows[0]["different"]) != fmt.Sprint(want) {
					t.Errorf("%s has %v, want %d points", measurement, rows, want)
				}
			}
			l.search(testserver.InfluxPassword)
		})
	}
}

// empty waits until everything is written.
func (l *lab) empty() {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	for {
		changed := l.spool.Changed()
		if l.spool.Stats().Points() == 0 {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			l.t.Fatalf("points wait: %+v", l.delivery.Stats())
		}
	}
}

// search looks for a secret in log, status and spool.
func (l *lab) search(secret string) {
	l.t.Helper()
	file, err := os.ReadFile(filepath.Join(l.dir, "spool.db"))
	if err != nil {
		l.t.Fatal(err)
	}
	if bytes.Contains(file, []byte(secret)) || strings.Contains(l.log.String(), secret) || strings.Contains(fmt.Sprintf("%+v", l.delivery.Stats()), secret) {
		l.t.Error("a secret is in the spool, the log or the status")
	}
}

// A runner adds points of its own run, and of nothing else.
func TestARunnerAddsItsOwnPoints(t *testing.T) {
	t.Parallel()
	fake := metricstest.NewFake(t)
	to, err := sink.NewHTTP(sink.Config{URL: fake.URL, API: sink.V2, Bucket: "lab"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t, to)
	l.start()
	c := l.dial(uid)
	for name, lines := range map[string][][]byte{
		"another run":     points("row", "2", 0, 1),
		"mixed":           append(points("row", uid, 0, 2), points("row", "2", 0, 1)...),
		"no run":          {[]byte("nodrop_row f=1i 1\n")},
		"a bed":           {[]byte("nodrop_bed,bed=b run=\"" + uid + "\" 1\n")},
		"not NoDrop's":    {[]byte("cpu run=\"" + uid + "\" 1\n")},
		"no line":         {[]byte("nodrop_row\n")},
		"an open quote":   {[]byte("nodrop_row run=\"" + uid + " 1\n")},
		"lines in a text": {[]byte("nodrop_row run=\"" + uid + "\" 1\nother f=1i\n")},
	} {
		if err := c.Take(t.Context(), nil, lines); status.Code(errors.Unwrap(err)) != codes.InvalidArgument {
			t.Errorf("%s: %v, want %s", name, err, codes.InvalidArgument)
		}
	}
	take(t, c, points("row", uid, 0, 1), nil)
	l.empty()
	l.stop()
	if got := slices.Collect(maps.Keys(fake.Points())); len(got) != 1 {
		t.Errorf("%q are stored", got)
	}
}

// The operator adds rows of any run and beds, and nothing else.
func TestTheOperatorAddsRows(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	l.to, _ = sink.NewHTTP(sink.Config{URL: "http://127.0.0.1:1", API: sink.V2, Bucket: "lab"}, nil)
	l.start()
	defer l.stop()
	b, err := l.authority.Recording(time.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	c := l.dialWith(b)
	for name, lines := range map[string][][]byte{
		"samples": points("port", uid, 0, 1),
		"no run":  {[]byte("nodrop_row f=1i 1\n")},
	} {
		if err := c.Take(t.Context(), lines, nil); !recorder.IsRefused(err) {
			t.Errorf("%s: %v, want %s", name, err, codes.InvalidArgument)
		}
	}
	take(t, c, slices.Concat(points("row", uid, 0, 2), points("row", "2", 2, 3), points("run", "2", 0, 1), points("gate", "2", 0, 1)), nil)
	take(t, c, nil, [][]byte{[]byte("nodrop_bed,bed=a waiting=1i 1\n"), []byte("nodrop_bed,bed=b,team=t holder=\"x\",run=\"2\" 1\n")})
	if s := l.spool.Stats(); s.Rows.Points != 5 || s.Series.Points != 2 {
		t.Errorf("%+v are kept, want 5 rows and 2 points of beds", s)
	}
}

// Only runners and the operator, with a certificate of the lab, are answered, and only a recorder with one is
// given points.
func TestStrangersAreRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	l.to, _ = sink.NewHTTP(sink.Config{URL: "http://127.0.0.1:1", API: sink.V2, Bucket: "lab"}, nil)
	l.start()
	defer l.stop()
	stranger, err := pki.NewAuthority(time.Now(), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	own := func(b pki.Bundle, err error) pki.Bundle {
		if err != nil {
			t.Fatal(err)
		}
		b.CA = l.authority.Cert
		return b
	}
	until := time.Now().Add(time.Hour)
	expired := time.Now().Add(-pki.MarginDays*24*time.Hour - time.Hour)
	for name, b := range map[string]pki.Bundle{
		"another lab's runner": own(stranger.Runner(uid, until)),
		"the recorder itself":  own(l.authority.Recorder()),
		"an expired runner":    own(l.authority.Runner(uid, expired)),
		"an expired operator":  own(l.authority.Recording(time.Now().Add(-time.Second))),
		"another operator":     own(stranger.Recording(until)),
	} {
		if err := l.dialWith(b).Take(t.Context(), nil, points("row", uid, 0, 1)); err == nil {
			t.Errorf("%s is answered", name)
		}
	}
	trusting, err := stranger.Runner(uid, until)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.dialWith(trusting).Take(t.Context(), nil, points("row", uid, 0, 1)); err == nil {
		t.Error("a recorder of another lab is given points")
	}
	conn, err := tls.Dial("tcp", l.address, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}})
	if err == nil {
		if _, err = conn.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("a client without a certificate is answered: %v", err)
		}
		_ = conn.Close()
	}
	if got := l.spool.Stats().Points(); got != 0 {
		t.Errorf("%d points of strangers are kept", got)
	}
}
