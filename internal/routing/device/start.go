package device

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/netif"
)

// MissingError says that a router is not installed.
type MissingError struct{ Program, Package string }

// Error says which package has it.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is not installed; install the package %s", e.Program, e.Package)
}

// stopTime is how long a daemon may take to end by itself.
const stopTime = 5 * time.Second

// Daemons are the processes of a router in a network namespace.
type Daemons struct {
	folder   string
	commands []*exec.Cmd
	ended    []chan struct{}
	output   []*bytes.Buffer
}

// Start starts a router of the kind frr or bird with a configuration in a network
// namespace. It fails with *MissingError when it is not installed, and with what the
// router says when it refuses the configuration. Memory limits of the caller's cgroup
// hold for it. Stop ends it.
func Start(ctx context.Context, ns netns.NsHandle, kind, config string) (*Daemons, error) {
	programs, err := programsOf(kind)
	if err != nil {
		return nil, err
	}
	base := "/run/nodrop"
	if err := os.MkdirAll(base, 0o755); err != nil {
		return nil, err
	}
	d := &Daemons{}
	if d.folder, err = os.MkdirTemp(base, kind+"-"); err != nil {
		return nil, err
	}
	file := filepath.Join(d.folder, kind+".conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, errors.Join(err, d.Stop())
	}
	if err := Check(ctx, kind, file); err != nil {
		return nil, errors.Join(err, d.Stop())
	}
	for _, p := range programs {
		if err := d.start(ns, p(d.folder, file)...); err != nil {
			return nil, errors.Join(err, d.Stop())
		}
	}
	return d, nil
}

// Check has the real daemon read a configuration file, and fails with what it says.
func Check(ctx context.Context, kind, file string) error {
	programs, err := programsOf(kind)
	if err != nil {
		return err
	}
	var command []string
	switch kind {
	case FRR:
		command = append(programs[len(programs)-1](filepath.Dir(file), file), "-C")
	case BIRD:
		command = []string{birdProgram, "-p", "-c", file}
	}
	out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
	// bgpd only says what it does not understand.
	if said := secrets.ReplaceAllString(string(bytes.TrimSpace(out)), "password (hidden)"); err != nil || strings.Contains(said, "config line") {
		return errors.Join(fmt.Errorf("%s refuses its configuration: %s", kind, said), err)
	}
	return nil
}

// secrets are in lines that a daemon repeats.
var secrets = regexp.MustCompile(`password .*`)

// The kinds that can be started.
const (
	FRR  = "frr"
	BIRD = "bird"
)

const (
	frrPrograms = "/usr/lib/frr/"
	birdProgram = "/usr/sbin/bird"
)

// programsOf are the commands of a router, made from its folder and the configuration.
func programsOf(kind string) ([]func(folder, file string) []string, error) {
	var all []func(string, string) []string
	first := birdProgram
	switch kind {
	case FRR:
		first = frrPrograms + "bgpd"
		common := func(name, folder string) []string {
			return []string{frrPrograms + name, "-S", "-u", "root", "-g", "root", "-P", "0", "-z", folder + "/zserv", "-i", folder + "/" + name + ".pid", "--vty_socket", folder, "--log", "stdout", "--log-level", "warnings"}
		}
		all = append(all,
			func(folder, _ string) []string { return append(common("zebra", folder), "-s", "90000000") },
			func(folder, file string) []string { return append(common("bgpd", folder), "-f", file) })
	case BIRD:
		all = append(all, func(folder, file string) []string {
			return []string{birdProgram, "-f", "-c", file, "-s", folder + "/bird.ctl", "-P", folder + "/bird.pid"}
		})
	default:
		return nil, fmt.Errorf("no router of the kind %q can be started; there are: %s, %s", kind, BIRD, FRR)
	}
	if _, err := os.Stat(first); err != nil {
		return nil, &MissingError{first, map[string]string{FRR: "frr", BIRD: "bird2"}[kind]}
	}
	return all, nil
}

func (d *Daemons) start(ns netns.NsHandle, command ...string) error {
	c := exec.Command(command[0], command[1:]...)
	out := &bytes.Buffer{}
	c.Stdout, c.Stderr = out, out
	// In a process group of its own, an interrupt from the terminal does not reach it.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := netif.In(ns, c.Start); err != nil {
		return fmt.Errorf("starting %s: %w", command[0], err)
	}
	ended := make(chan struct{})
	go func() { _ = c.Wait(); close(ended) }()
	d.commands, d.ended, d.output = append(d.commands, c), append(d.ended, ended), append(d.output, out)
	return nil
}

// Err says whether a process has ended by itself, and what it said.
func (d *Daemons) Err() error {
	for i, ended := range d.ended {
		select {
		case <-ended:
			return fmt.Errorf("%s ended (%v): %s", filepath.Base(d.commands[i].Path), d.commands[i].ProcessState, strings.TrimSpace(d.output[i].String()))
		default:
		}
	}
	return nil
}

// PID of the process that speaks BGP.
func (d *Daemons) PID() int { return d.commands[len(d.commands)-1].Process.Pid }

// Stop ends the processes and removes their files.
func (d *Daemons) Stop() error {
	for i := len(d.commands) - 1; i >= 0; i-- {
		p := d.commands[i].Process
		_ = p.Signal(unix.SIGTERM)
		select {
		case <-d.ended[i]:
		case <-time.After(stopTime):
			_ = p.Kill()
			<-d.ended[i]
		}
	}
	d.commands, d.ended, d.output = nil, nil, nil
	return os.RemoveAll(d.folder)
}
