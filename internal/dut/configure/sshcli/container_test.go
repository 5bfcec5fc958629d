package sshcli_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/commands"
	"nodrop.dev/nodrop/internal/dut/configure/container"
	"nodrop.dev/nodrop/internal/dut/configure/sshcli"
	"nodrop.dev/nodrop/internal/testkit/containertest"
	"nodrop.dev/nodrop/internal/testkit/drivertest"
	"nodrop.dev/nodrop/internal/testkit/longtest"
)

// frrInContainer is FRR in a container of Docker.
func frrInContainer(t *testing.T) *drivertest.Device {
	d := containertest.Start(t)
	r := d.Router("dut")
	d.RunProgram("other", []string{"sleep", "infinity"}, "--volume", "/bin/cat:/usr/bin/vtysh:ro")
	return drivertest.InContainer(drivertest.Device{
		Address: d.Socket, Running: func() string { return r.Exec("vtysh", "-c", "show running-config") }, Other: other, Secret: "hunter2",
		Rejected: rejected, Otherwise: otherwise,
	}, "dut", "other", func(a commands.Access) (configure.Driver, error) { return sshcli.New(sshcli.FRR, a) }, "shows no prompt of FRR within 2s")
}

// TestDriverInContainer takes FRR in a container through everything that may happen to a change.
func TestDriverInContainer(t *testing.T) {
	longtest.Skip(t, "TestDriver with FRR, and TestDriverInContainer of nftables")
	frrInContainer(t).Run(t)
}

// TestLostConnectionInContainer cuts the connection to the runtime at more and more places of a change.
func TestLostConnectionInContainer(t *testing.T) {
	longtest.Skip(t, "TestLostConnection with FRR, and TestPausedContainer")
	frrInContainer(t).RunLost(t, 60, 300, 9500)
}

// attempts tells each attempt to connect that failed.
type attempts struct {
	configure.Driver
	failed func(error)
}

func (a *attempts) Connect(ctx context.Context) (configure.Session, error) {
	s, err := a.Driver.Connect(ctx)
	if err != nil {
		a.failed(err)
	}
	return s, err
}

// routerInContainer starts FRR in a container, and returns its driver and what it has.
func routerInContainer(t *testing.T) (*containertest.Container, configure.Driver, configure.Configuration) {
	t.Helper()
	d := containertest.Start(t)
	r := d.Router("dut")
	driver, err := sshcli.New(sshcli.FRR, container.Config{Name: "dut", Host: "unix://" + d.Socket})
	if err != nil {
		t.Fatal(err)
	}
	base, err := configure.Read(t.Context(), driver)
	if err != nil {
		t.Fatal(err)
	}
	return r, driver, base
}

// TestPausedContainer configures a device that answers again after a while, and one that has gone.
func TestPausedContainer(t *testing.T) {
	r, driver, base := routerInContainer(t)
	resume := r.Pause()
	tried := 0
	record, err := configure.Apply(t.Context(), &attempts{driver, func(err error) {
		if !errors.Is(err, configure.ErrUnreachable) || !strings.Contains(err.Error(), "container dut is paused") {
			t.Errorf("attempt %d: %v", tried, err)
		}
		if tried++; tried == 2 {
			resume()
		}
	}}, other(base, 3), time.Minute)
	if err != nil || tried != 2 || record.Sessions != 1 {
		t.Errorf("%v, after %d attempts and %d sessions", err, tried, record.Sessions)
	}
	if now := r.Exec("vtysh", "-c", "show running-config"); !strings.Contains(now, "ip route 198.18.101.0/24 198.18.1.9") {
		t.Errorf("the device has %s", now)
	}
	r.Do("stop")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := configure.Apply(ctx, driver, base, time.Minute); !errors.Is(err, configure.ErrUnreachable) || !strings.Contains(err.Error(), "container dut is exited") {
		t.Errorf("%v, want that the container does not run", err)
	}
}
