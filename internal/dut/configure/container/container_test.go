package container_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/commands"
	"nodrop.dev/nodrop/internal/dut/configure/container"
	"nodrop.dev/nodrop/internal/testkit/containertest"
)

// TestRun runs commands in a container of Docker.
func TestRun(t *testing.T) {
	d := containertest.Start(t)
	d.RunProgram("dut", []string{"sleep", "infinity"})
	d.RunProgram("paused", []string{"sleep", "infinity"}).Pause()
	d.RunProgram("stopped", []string{"true"})
	d.RunProgram("shellless", []string{"sleep", "infinity"}, "--volume", "/dev/null:/usr/bin/bash:ro")
	access := container.Config{Name: "dut", Host: "unix://" + d.Socket}
	c, err := access.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	long := strings.Repeat("0123456789abcde\n", 1<<16)
	for name, tc := range map[string]struct {
		command, input, out, problems string
		status                        int
	}{
		"input":         {command: "cat; echo done >&2", input: long, out: long, problems: "done\n"},
		"nothing":       {command: "true"},
		"status":        {command: "echo out; echo no >&2; exit 3", out: "out\n", problems: "no\n", status: 3},
		"a signal":      {command: "kill -9 $$", status: 137},
		"no program":    {command: "exec nothing-like-this", problems: "not found", status: 127},
		"input is left": {command: "true", input: long},
	} {
		out, problems, err := c.Run(tc.command, tc.input)
		var ended *commands.ExitError
		if errors.As(err, &ended) != (tc.status != 0) || ended != nil && ended.Status != tc.status || ended == nil && err != nil {
			t.Errorf("%s: %v, want status %d", name, err, tc.status)
		}
		if out != tc.out || !strings.Contains(problems, tc.problems) {
			t.Errorf("%s: %.80q and %.80q, want %.80q and %.80q", name, out, problems, tc.out, tc.problems)
		}
	}
	if _, _, err := c.Run("cat /dev/zero", ""); !errors.Is(err, commands.ErrTooLong) {
		t.Errorf("%v, want %v", err, commands.ErrTooLong)
	}
	for name, tc := range map[string]struct {
		is   error
		want string
	}{
		"nowhere": {configure.ErrRefused, "has no container nowhere: see docker ps -a"},
		"paused":  {configure.ErrUnreachable, "container paused is paused"},
		"stopped": {configure.ErrUnreachable, "container stopped is exited"},
	} {
		access.Name = name
		if _, err := access.Open(t.Context()); !errors.Is(err, tc.is) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	access.Name = "shellless"
	if c, err = access.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, problems, err := c.Run("true", ""); err == nil || !strings.Contains(problems, "exec failed") {
		t.Errorf("without a shell: %v, %q", err, problems)
	}
	line, err := c.Console("nothing-like-this")
	if err != nil {
		t.Fatal(err)
	}
	for b := make([]byte, 512); err == nil; {
		_, err = line.Read(b)
	}
	if !errors.Is(err, configure.ErrRefused) || !strings.Contains(err.Error(), "nothing-like-this") {
		t.Errorf("without a command line: %v", err)
	}
}

// TestEnds ends what runs in a container, by the context and by the death of the container.
func TestEnds(t *testing.T) {
	d := containertest.Start(t)
	dut := d.RunProgram("dut", []string{"sleep", "infinity"})
	access := container.Config{Name: "dut", Host: "unix://" + d.Socket}
	for name, end := range map[string]func(cancel func()){
		"context":   func(cancel func()) { cancel() },
		"container": func(func()) { dut.Do("kill") },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		c, err := access.Open(ctx)
		if err != nil {
			t.Fatal(err)
		}
		line, err := c.Console("cat")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := line.Write([]byte("begun\n")); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 512)
		if n, err := line.Read(b); err != nil || string(b[:n]) != "begun\n" {
			t.Fatalf("%q, %v", b[:n], err)
		}
		failed := make(chan error, 1)
		go func() {
			_, _, err := c.Run("touch /begun; sleep 600", "")
			failed <- err
		}()
		for dut.Exec("sh", "-c", "ls /begun 2>/dev/null || true") == "" {
			if t.Context().Err() != nil {
				t.Fatal("the command did not begin")
			}
		}
		dut.Exec("rm", "/begun")
		end(cancel)
		if err := <-failed; !errors.Is(err, commands.ErrLost) {
			t.Errorf("%s: %v, want %v", name, err, commands.ErrLost)
		}
		if _, err := line.Read(b); err == nil {
			t.Errorf("%s: the command line did not end", name)
		}
		cancel()
		if name == "container" {
			dut.Do("start")
		}
	}
}

// TestCheck names settings that cannot connect.
func TestCheck(t *testing.T) {
	t.Setenv("DOCKER_HOST", "tcp://192.0.2.1:2375")
	for want, c := range map[string]container.Config{
		`container: Invalid value: "a/b": want the name`: {Name: "a/b"},
		`DOCKER_HOST: Unsupported value: "tcp://192.0`:   {Name: "a"},
	} {
		if err := c.Check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	socket := filepath.Join(t.TempDir(), "none")
	if _, err := (container.Config{Name: "a", Host: "unix://" + socket}).Open(t.Context()); !errors.Is(err, configure.ErrUnreachable) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, want that no runtime answers", err)
	}
}
