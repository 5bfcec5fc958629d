package files_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/container"
	"nodrop.dev/nodrop/internal/dut/configure/files"
	"nodrop.dev/nodrop/internal/testkit/containertest"
)

// again calls a function at each session after the first one.
type again struct {
	configure.Driver
	first bool
	call  func()
}

func (a *again) Connect(ctx context.Context) (configure.Session, error) {
	if a.first {
		a.call()
	}
	a.first = true
	return a.Driver.Connect(ctx)
}

// TestLostReload loses the connection while the reload command runs, after the files were replaced: they differ from what is wanted until
// it has ended, and no two of them run.
func TestLostReload(t *testing.T) {
	d := containertest.Start(t)
	c := d.RunProgram("dut", []string{"sleep", "infinity"}, "--volume", "/usr:/usr:ro")
	c.ExecWith(base, "sh", "-c", "cat > "+rulesFile+" && "+reload)
	const slow = "mkdir /running || touch /twice; touch /begun; while [ ! -e /go ]; do sleep 0.05; done; " + reload + " && rmdir /running"
	driver, err := files.New(container.Config{Name: "dut", Host: "unix://" + d.Socket}, []string{rulesFile}, slow)
	if err != nil {
		t.Fatal(err)
	}
	want, err := driver.Language().Parse(written(t, map[string]*string{rulesFile: new(strings.Replace(base, "198.18.9.0", "198.18.8.0", 1))}))
	if err != nil {
		t.Fatal(err)
	}
	rules := func() string { return c.Exec("nft", "list", "ruleset") }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		_, err := configure.Apply(ctx, driver, want, 0)
		failed <- err
	}()
	for c.Exec("sh", "-c", "ls /begun 2>/dev/null || true") == "" {
		if t.Context().Err() != nil {
			t.Fatal("the reload command did not begin")
		}
	}
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
	have, err := configure.Read(t.Context(), driver)
	if err != nil {
		t.Fatal(err)
	}
	if found := driver.Language().Differences(want, have); !slices.Equal(found, []string{"+ the reload command has not ended with these files"}) || !strings.Contains(rules(), "198.18.9.0") {
		t.Errorf("%q, want that the files are not effective: %s", found, rules())
	}
	record, err := configure.Apply(t.Context(), &again{Driver: driver, call: func() { c.Exec("touch", "/go") }}, want, time.Minute)
	if err != nil || record.Lost == 0 {
		t.Errorf("%v, after %d sessions that were in vain", err, record.Lost)
	}
	if now := rules(); !strings.Contains(now, "198.18.8.0") {
		t.Errorf("the files are not effective: %s", now)
	}
	if left := c.Exec("sh", "-c", "ls -a / /etc | grep -E 'twice|nodrop' || true"); left != "" {
		t.Errorf("two reload commands ran at once, or files are left: %s", left)
	}
}
