package commands_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/commands"
	"nodrop.dev/nodrop/internal/dut/configure/nftables"
	"nodrop.dev/nodrop/internal/testkit/sshrouter"
)

// TestReset enters commands of resets at Debian's OpenSSH server. A connection that the last command ends is no error, and one that an
// earlier command ends is.
func TestReset(t *testing.T) {
	l := sshrouter.StartLinux(t)
	folder := t.TempDir()
	cut := filepath.Join(folder, "cut")
	access := l.Access()
	access.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err == nil {
			go cutAt(ctx, cut, conn)
		}
		return conn, err
	}
	driver, err := nftables.New(access)
	if err != nil {
		t.Fatal(err)
	}
	resets := configure.NewResets(driver, []v1alpha1.DeviceReset{
		{Name: "all", Commands: []string{"touch " + folder + "/a", "touch " + folder + "/b"}},
		{Name: "asks", Commands: []string{"read sure; touch " + folder + "/$sure"}, Answer: new("c")},
		{Name: "asksNothing", Commands: []string{"read sure && touch " + folder + "/d"}},
		{Name: "ends", Commands: []string{"touch " + folder + "/e " + cut + "; sleep 60"}},
		{Name: "killed", Commands: []string{"touch " + folder + "/f; kill -9 $PPID"}},
		{Name: "endsEarly", Commands: []string{"touch " + cut + "; sleep 60", "touch " + folder + "/g"}},
		{Name: "fails", Commands: []string{"rmdir nothing", "touch " + folder + "/h"}},
	})
	for name, tc := range map[string]struct {
		has, lacks, want string
		is               error
	}{
		"all":         {has: "a b"},
		"asks":        {has: "c"},
		"asksNothing": {lacks: "d", want: `/d" ended with status 1`},
		"ends":        {has: "e"},
		"killed":      {has: "f"},
		"endsEarly":   {lacks: "g", want: "the connection was lost", is: configure.ErrUnreachable},
		"fails":       {lacks: "h", want: `"rmdir nothing" ended with status 1: rmdir: failed to remove`},
		"reload":      {want: `name: Unsupported value: "reload": the bed describes all, asks, asksNothing, ends, killed, endsEarly, fails`},
	} {
		err := resets.Reset(t.Context(), name)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) || tc.is != nil && !errors.Is(err, tc.is) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
		_ = os.Remove(cut)
		for _, file := range strings.Fields(tc.has) {
			if _, err := os.Stat(filepath.Join(folder, file)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := os.Stat(filepath.Join(folder, tc.lacks)); tc.lacks != "" && err == nil {
			t.Errorf("%s: a command was run after one that failed", name)
		}
	}
	wrong := l.Access()
	wrong.Password = "wrong"
	if driver, err = nftables.New(wrong); err != nil {
		t.Fatal(err)
	}
	if err := configure.NewResets(driver, []v1alpha1.DeviceReset{{Name: "all"}}).Reset(t.Context(), "all"); !errors.Is(err, configure.ErrRefused) {
		t.Errorf("%v, want %v", err, configure.ErrRefused)
	}
}

// TestTooLong ends a command at Debian's OpenSSH server that prints without end.
func TestTooLong(t *testing.T) {
	c, err := sshrouter.StartLinux(t).Access().Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, _, err := c.Run("cat /dev/zero", ""); !errors.Is(err, commands.ErrTooLong) {
		t.Errorf("%v, want %v", err, commands.ErrTooLong)
	}
}

// cutAt closes a connection when a file appears, which a command of the device makes.
func cutAt(ctx context.Context, file string, conn net.Conn) {
	for ; ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			_ = conn.Close()
			return
		}
	}
}
