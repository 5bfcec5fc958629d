package sshcli_test

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

	"golang.org/x/crypto/ssh"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/sshcli"
	"nodrop.dev/nodrop/internal/dut/configure/text"
	"nodrop.dev/nodrop/internal/testkit/longtest"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// named is a configuration for a test: the base with other routes, an ACL, another neighbor and a password.
func named(base text.Tree, entries int) text.Tree {
	var out strings.Builder
	for i := range entries {
		fmt.Fprintf(&out, "access-list filter seq %d deny 198.18.%d.0/24\n", 5*(i+1), i)
	}
	out.WriteString(strings.NewReplacer(
		"ip route 198.18.100.0/24 198.18.1.9\n", "ip route 198.18.101.0/24 198.18.1.9\n",
		" neighbor 198.18.1.2 remote-as 65002\n", " neighbor 198.18.1.3 remote-as 65003\n neighbor 198.18.1.3 password hunter2\n",
	).Replace(base.String()))
	return dialect.Parse(out.String())
}

// TestDriver takes FRR behind OpenSSH through everything that may happen to a change.
func TestDriver(t *testing.T) {
	r := sshrouter.Start(t)
	base := running(r)
	restore := func(t *testing.T) {
		t.Helper()
		if _, err := configure.Apply(t.Context(), driver(t, r, r.Address), base, time.Minute); err != nil {
			t.Fatal(err)
		}
		hasConfiguration(t, r, base)
	}
	for name, f := range map[string]func(*testing.T){
		"apply, read back and restore": func(t *testing.T) {
			want := named(base, 201)
			record, err := configure.Apply(t.Context(), driver(t, r, r.Address), want, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			hasConfiguration(t, r, want)
			if record.BeforeDigest != configure.Digest(base) || record.AfterDigest == record.BeforeDigest || record.Sessions != 1 {
				t.Errorf("the record is of another change: %+v", record)
			}
			if log, err := json.Marshal(record); err != nil || bytes.Contains(log, []byte("hunter2")) || bytes.Contains(log, []byte(sshrouter.Password)) {
				t.Errorf("a secret is in the record, or %v", err)
			}
			if again, err := configure.Apply(t.Context(), driver(t, r, r.Address), want, time.Minute); err != nil || len(again.Answers) > 0 {
				t.Errorf("%v: a device that has its configuration got the commands %v", err, again.Answers)
			}
		},
		"rejected, and rolled back": func(t *testing.T) {
			want := append(named(base, 20), text.Node{Line: "ip route 198.18.300.0/24 198.18.1.9"}, text.Node{Line: "ip route 198.18.7.0/24 198.18.1.9"})
			record, err := configure.Apply(t.Context(), driver(t, r, r.Address), want, time.Minute)
			var rejected *configure.RejectedError
			if !errors.As(err, &rejected) || rejected.Command != "ip route 198.18.300.0/24 198.18.1.9" || rejected.Text == "" || !record.RolledBack {
				t.Errorf("%v, rolled back: %v", err, record.RolledBack)
			}
			hasConfiguration(t, r, base)
		},
		"accepted, and reported otherwise": func(t *testing.T) {
			want := append(named(base, 3), text.Node{Line: "ip route 198.18.9.1/24 198.18.1.9"}) // FRR reports the network.
			_, err := configure.Apply(t.Context(), driver(t, r, r.Address), want, time.Minute)
			var different *configure.DifferentError
			if !errors.As(err, &different) || !slices.Contains(different.Differences, "+ ip route 198.18.9.0/24 198.18.1.9") {
				t.Errorf("%v, want the difference", err)
			}
			hasConfiguration(t, r, base)
		},
		"unreachable for a while": func(t *testing.T) {
			p := startProxy(t, r.Address)
			p.refuseNext(5)
			want := named(base, 3)
			if _, err := configure.Apply(t.Context(), driver(t, r, p.address()), want, time.Minute); err != nil {
				t.Fatal(err)
			}
			if left := p.refuseNext(0); left != 0 {
				t.Errorf("%d connections were not tried, want 0", left)
			}
			hasConfiguration(t, r, want)
		},
		"unreachable for a minute": func(t *testing.T) {
			longtest.Skip(t, "unreachable for a while")
			p := startProxy(t, r.Address)
			p.refuseNext(1 << 30)
			time.AfterFunc(time.Minute, func() { p.refuseNext(0) })
			want := named(base, 3)
			if _, err := configure.Apply(t.Context(), driver(t, r, p.address()), want, 5*time.Minute); err != nil {
				t.Fatal(err)
			}
			hasConfiguration(t, r, want)
		},
		"unreachable for good": func(t *testing.T) {
			p := startProxy(t, r.Address)
			p.refuseNext(1 << 30)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			if _, err := configure.Apply(ctx, driver(t, r, p.address()), named(base, 3), time.Minute); !errors.Is(err, configure.ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v, want that it is unreachable", err)
			}
			hasConfiguration(t, r, base)
		},
		"wrong password": refused(r, base, "does not accept the user or its credentials", func(c *sshcli.Config) { c.Password = "wrong" }),
		"wrong host key": refused(r, base, "and may have SHA256:", func(c *sshcli.Config) {
			c.HostKeys = ssh.MarshalAuthorizedKey(otherKey(t))
		}),
		"no prompt": func(t *testing.T) {
			refused(sshrouter.Serve(t, "/bin/cat"), nil, "shows no prompt of frr within 2s", func(c *sshcli.Config) { c.Timeout = 2 * time.Second })(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f(t)
			restore(t)
		})
	}
}

// TestLostConnection cuts the connection after more and more bytes of a change: each time the device gets its
// configuration. It does the same with a process that ends: then the base can be restored.
func TestLostConnection(t *testing.T) {
	r := sshrouter.Start(t)
	base := running(r)
	want := named(base, 60)
	const from, to = 2500, 9500 // The handshake takes some 2,500 bytes.
	step := 250
	if testing.Short() {
		step = 900
	}
	lost := 0
	for after := from; after < to; after += step {
		t.Run(fmt.Sprintf("after %d bytes", after), func(t *testing.T) {
			p := startProxy(t, r.Address)
			p.cutNext(after, nil)
			record, err := configure.Apply(t.Context(), driver(t, r, p.address()), want, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			lost += record.Lost
			hasConfiguration(t, r, want)
			killed, kill := context.WithCancel(t.Context())
			defer kill()
			p.cutNext(after, kill)
			_, err = configure.Apply(killed, driver(t, r, p.address()), base, 0) // No time to restore: it is as if it were killed.
			if killed.Err() != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("%v, want that the context has ended", err)
			}
			if _, err := configure.Apply(t.Context(), driver(t, r, r.Address), base, time.Minute); err != nil {
				t.Fatal(err)
			}
			hasConfiguration(t, r, base)
		})
	}
	if lost < 3 {
		t.Errorf("%d connections were cut within a session, want some", lost)
	}
}

// refused expects that no session can be had, at once, and that nothing is changed.
func refused(r *sshrouter.Router, base text.Tree, why string, change func(*sshcli.Config)) func(*testing.T) {
	return func(t *testing.T) {
		record, err := configure.Apply(t.Context(), driver(t, r, r.Address, change), text.Tree{{Line: "hostname other"}}, time.Minute)
		if !errors.Is(err, configure.ErrRefused) || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), sshrouter.Password) {
			t.Errorf("%v, want %q", err, why)
		}
		if record.Sessions > 0 {
			t.Errorf("there were %d sessions, want none", record.Sessions)
		}
		if base != nil {
			hasConfiguration(t, r, base)
		}
	}
}

var dialect = sshcli.FRR.Dialect()

// driver returns a driver for an address.
func driver(t *testing.T, r *sshrouter.Router, address string, change ...func(*sshcli.Config)) *sshcli.Driver {
	t.Helper()
	c := sshcli.Config{Platform: sshcli.FRR, Address: address, User: sshrouter.User, Password: sshrouter.Password, HostKeys: r.HostKey, Timeout: 10 * time.Second}
	for _, f := range change {
		f(&c)
	}
	d, err := sshcli.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func running(r *sshrouter.Router) text.Tree { return dialect.Parse(r.Running()) }

func otherKey(t *testing.T) ssh.PublicKey {
	t.Helper()
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// hasConfiguration compares what FRR's own shell prints, in any order.
func hasConfiguration(t *testing.T, r *sshrouter.Router, want text.Tree) {
	t.Helper()
	if d := dialect.Differences(want, running(r)); len(d) > 0 {
		t.Errorf("the device has another configuration: %q", d)
	}
}
