package remote

import (
	"context"
	"errors"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/dut/telemetry"
)

// fakeDevice answers with a reading or an error.
type fakeDevice struct {
	reading *telemetry.Reading
	err     error
	off     time.Duration
	reset   string
	// list is the list that the device got last, and entries its number of entries.
	list     string
	entries  int64
	rejected string
	busy     sync.Mutex
	t        *testing.T
}

func (f *fakeDevice) Read(context.Context) (*telemetry.Reading, error) {
	if !f.busy.TryLock() {
		f.t.Error("the device is read twice at the same time")
	}
	defer f.busy.Unlock()
	return f.reading, f.err
}

func (f *fakeDevice) Facts(context.Context) (*telemetry.Facts, error) {
	return &telemetry.Facts{Model: "leaf"}, f.err
}

func (f *fakeDevice) Power(context.Context) (int64, error) { return 421_500, f.err }

func (f *fakeDevice) Cycle(_ context.Context, off time.Duration) error {
	f.off = off
	return f.err
}

func (f *fakeDevice) On(context.Context) error { return f.err }

func (f *fakeDevice) Reset(_ context.Context, name string) error {
	f.reset = name
	return f.err
}

func (f *fakeDevice) Restore(context.Context) (bool, error) { return true, f.err }

func (f *fakeDevice) Scale(_ context.Context, name string, n int64) (string, error) {
	f.list, f.entries = name, n
	return f.rejected, f.err
}

func (f *fakeDevice) Close() {}

// TestReadings carries readings and errors to the runner of the run, and nothing to any other client.
func TestReadings(t *testing.T) {
	t.Parallel()
	set, err := pki.Issue("uid", 2, time.Now(), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	serving, err := set.Agents[1].ServerConfig(pki.RunnerName("uid"))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	device := &fakeDevice{t: t, reading: &telemetry.Reading{Up: time.Minute, Sensors: map[string]telemetry.Sensor{"PSU 1": {Value: 421.5, Unit: "W"}}}}
	device.reading.Add("input discards of e1", telemetry.Counter{Value: 1<<63 + 1, Bits: 64})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, listener, Devices{device, device, device, device, device}, serving) }()

	client := func(b pki.Bundle, name string) *Client {
		c, err := NewClient(listener.Addr().String(), name, b)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	runner := client(set.Runner, pki.AgentName("uid", 1))
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if got, err := runner.Read(t.Context()); err != nil || !reflect.DeepEqual(got, device.reading) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	all.Wait()
	for name, other := range map[string]*Client{
		"an agent":     client(set.Agents[0], pki.AgentName("uid", 1)),
		"the operator": client(set.Operator, pki.AgentName("uid", 1)),
		"another pod":  client(set.Runner, pki.AgentName("uid", 0)),
	} {
		if got, err := other.Read(t.Context()); err == nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	if got, err := runner.Facts(t.Context()); err != nil || got.Model != "leaf" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := runner.Power(t.Context()); err != nil || got != 421_500 {
		t.Errorf("%d mW, %v", got, err)
	}
	if err := runner.Cycle(t.Context(), 15*time.Second); err != nil || device.off != 15*time.Second {
		t.Errorf("%s, %v", device.off, err)
	}
	if err := runner.Cycle(t.Context(), 2*time.Hour); err == nil || !strings.Contains(err.Error(), `off is "2h0m0s": give 0s to 1h0m0s`) {
		t.Errorf("%v", err)
	}
	if err := runner.Reset(t.Context(), "a b&c"); err != nil || device.reset != "a b&c" {
		t.Errorf("%q, %v", device.reset, err)
	}
	if restored, err := runner.Restore(t.Context()); err != nil || !restored {
		t.Errorf("%t, %v", restored, err)
	}
	for _, rejected := range []string{"", "no room for 70 entries"} {
		device.rejected = rejected
		if got, err := runner.Scale(t.Context(), "a b&c", 70); err != nil || got != rejected || device.list != "a b&c" || device.entries != 70 {
			t.Errorf("rejected %q, %v: %+v", got, err, device)
		}
	}
	var got string
	if err := runner.ask(t.Context(), "POST", scalePath+"?name=acl&entries=many", &got); err == nil || !strings.Contains(err.Error(), `entries is "many": give a whole number`) {
		t.Errorf("%v", err)
	}
	device.err = errors.New("the device is away")
	if _, err := runner.Scale(t.Context(), "acl", 0); err == nil || !strings.Contains(err.Error(), "the device is away") || device.entries != 0 {
		t.Errorf("%v", err)
	}
	if err := runner.Reset(t.Context(), "reload"); err == nil || !strings.Contains(err.Error(), "the device is away") {
		t.Errorf("%v", err)
	}
	if restored, err := runner.Restore(t.Context()); err == nil || restored {
		t.Errorf("%t, %v", restored, err)
	}
	if err := runner.Cycle(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "the device is away") {
		t.Errorf("%v", err)
	}
	if _, err := runner.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "the device is away") {
		t.Errorf("%v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
