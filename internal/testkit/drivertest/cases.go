package drivertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/testkit/longtest"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// Run takes the device through everything that may happen to a change. Afterwards it has the configuration from before.
func (d *Device) Run(t *testing.T) {
	base := d.running(t)
	restore := func(t *testing.T) {
		t.Helper()
		if _, err := configure.Apply(t.Context(), d.driver(t, d.Address), base, time.Minute); err != nil {
			t.Fatal(err)
		}
		d.has(t, base)
	}
	for name, f := range map[string]func(*testing.T){
		"apply, read back and restore": func(t *testing.T) {
			want := d.Other(base, 201)
			record, err := configure.Apply(t.Context(), d.driver(t, d.Address), want, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			d.has(t, want)
			if record.BeforeDigest != configure.Digest(base) || record.AfterDigest == record.BeforeDigest || record.Sessions != 1 {
				t.Errorf("the record is of another change: %+v", record)
			}
			if log, err := json.Marshal(record); err != nil || d.Secret != "" && bytes.Contains(log, []byte(d.Secret)) || bytes.Contains(log, []byte(sshrouter.Password)) {
				t.Errorf("a secret is in the record, or %v", err)
			}
			if again, err := configure.Apply(t.Context(), d.driver(t, d.Address), want, time.Minute); err != nil || len(again.Answers) > 0 {
				t.Errorf("%v: a device that has its configuration got the commands %v", err, again.Answers)
			}
		},
		"rejected, and rolled back": func(t *testing.T) {
			want, line := d.Rejected(base)
			record, err := configure.Apply(t.Context(), d.driver(t, d.Address), want, time.Minute)
			var rejected *configure.RejectedError
			if !errors.As(err, &rejected) || rejected.Command != line || rejected.Text == "" || !record.RolledBack {
				t.Errorf("%v, rolled back: %v", err, record.RolledBack)
			}
			d.has(t, base)
		},
		"accepted, and reported otherwise": func(t *testing.T) {
			if d.Otherwise == nil {
				t.Skip("the device reports what it accepts")
			}
			want, difference := d.Otherwise(base)
			_, err := configure.Apply(t.Context(), d.driver(t, d.Address), want, time.Minute)
			var different *configure.DifferentError
			if !errors.As(err, &different) || !slices.Contains(different.Differences, difference) {
				t.Errorf("%v, want the difference", err)
			}
			d.has(t, base)
		},
		"unreachable for a while": func(t *testing.T) {
			refused := 5
			if testing.Short() {
				refused = 3 // The pauses between attempts become longer.
			}
			p := startProxy(t, d.Address)
			p.refuseNext(refused)
			want := d.Other(base, 3)
			if _, err := configure.Apply(t.Context(), d.driver(t, p.address()), want, time.Minute); err != nil {
				t.Fatal(err)
			}
			if left := p.refuseNext(0); left != 0 {
				t.Errorf("%d connections were not tried, want 0", left)
			}
			d.has(t, want)
		},
		"unreachable for a minute": func(t *testing.T) {
			longtest.Skip(t, "unreachable for a while")
			p := startProxy(t, d.Address)
			p.refuseNext(1 << 30)
			time.AfterFunc(time.Minute, func() { p.refuseNext(0) })
			want := d.Other(base, 3)
			if _, err := configure.Apply(t.Context(), d.driver(t, p.address()), want, 5*time.Minute); err != nil {
				t.Fatal(err)
			}
			d.has(t, want)
		},
		"unreachable for good": func(t *testing.T) {
			p := startProxy(t, d.Address)
			p.refuseNext(1 << 30)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			if _, err := configure.Apply(ctx, d.driver(t, p.address()), d.Other(base, 3), time.Minute); !errors.Is(err, configure.ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v, want that it is unreachable", err)
			}
			d.has(t, base)
		},
		"wrong password": func(t *testing.T) {
			d.needsIdentity(t)
			d.refuses(t, d.wrong(t, d.Address, Wrong{Password: true}), base, "does not accept the user or its credentials")
		},
		"wrong host key or certificate": func(t *testing.T) {
			d.needsIdentity(t)
			d.refuses(t, d.wrong(t, d.Address, Wrong{Identity: true}), base, d.Identity)
		},
		"no such device": func(t *testing.T) {
			driver, message := d.NoDevice(t)
			d.refuses(t, driver, "", message)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f(t)
			restore(t)
		})
	}
}

// RunLost cuts the connection after more and more bytes of a change, from the end of the handshake to the end of the
// session: each time the device gets its configuration. It does the same with a process that ends: then
// the base can be restored.
func (d *Device) RunLost(t *testing.T, entries, from, to int) {
	step := 250
	if testing.Short() {
		step = 900
	}
	base := d.running(t)
	want := d.Other(base, entries)
	lost := 0
	for after := from; after < to; after += step {
		t.Run(fmt.Sprintf("after %d bytes", after), func(t *testing.T) {
			p := startProxy(t, d.Address)
			p.cutNext(after, nil)
			record, err := configure.Apply(t.Context(), d.driver(t, p.address()), want, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			lost += record.Lost
			d.has(t, want)
			killed, kill := context.WithCancel(t.Context())
			defer kill()
			p.cutNext(after, kill)
			_, err = configure.Apply(killed, d.driver(t, p.address()), base, 0) // No time to restore: it is as if it were killed.
			if killed.Err() != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%v, want that the context has ended", err)
			}
			if _, err := configure.Apply(t.Context(), d.driver(t, d.Address), base, time.Minute); err != nil {
				t.Fatal(err)
			}
			d.has(t, base)
		})
	}
	if lost < 3 {
		t.Errorf("%d connections were cut within a session, want some", lost)
	}
}

// needsIdentity skips a case of devices that are reached over a network.
func (d *Device) needsIdentity(t *testing.T) {
	t.Helper()
	if d.Identity == "" {
		t.Skip("the runtime of containers asks for no password and shows no key")
	}
}

// refuses expects that no session can be had, at once, and that nothing is changed.
func (d *Device) refuses(t *testing.T, driver configure.Driver, base configure.Configuration, why string) {
	t.Helper()
	want := base
	if base != "" {
		want = d.Other(base, 1)
	}
	record, err := configure.Apply(t.Context(), driver, want, time.Minute)
	if !errors.Is(err, configure.ErrRefused) || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), sshrouter.Password) {
		t.Errorf("%v, want %q", err, why)
	}
	if len(record.Answers) > 0 {
		t.Errorf("the device got %v, want nothing", record.Answers)
	}
	if base != "" {
		d.has(t, base)
	}
}
