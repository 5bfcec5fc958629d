//go:build linux

package router

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/runfolder"
)

// MissingError reports that a router is not installed.
type MissingError struct{ Program, Package string }

// Error names the package that contains it.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is not installed; install the package %s", e.Program, e.Package)
}

// stopTime is the time that a daemon may take to end by itself.
const stopTime = 5 * time.Second

// Daemons are the processes of a router in a network namespace.
type Daemons struct {
	folder   *runfolder.Folder
	limit    *limit
	commands []*exec.Cmd
	ended    []chan struct{}
	output   []*bytes.Buffer
}

// Option changes how a router is started.
type Option func(*Daemons) error

// WithMemory starts the processes in a cgroup of their own, which may use so many bytes.
func WithMemory(bytes int64) Option {
	return func(d *Daemons) (err error) {
		d.limit, err = newLimit(d.folder.Path, bytes)
		return err
	}
}

// Start starts a router of the kind frr or bird with a configuration in a network namespace.
// It fails with *MissingError if the router is not installed, and with the router's message if
// it refuses the configuration. Stop ends it. If this process is killed, Clean ends the
// router.
func Start(ctx context.Context, ns netns.NsHandle, kind, config string, options ...Option) (*Daemons, error) {
	if _, err := programsOf(kind, "", ""); err != nil {
		return nil, err
	}
	d := &Daemons{}
	var err error
	if d.folder, err = newFolder(Dir, kind); err != nil {
		return nil, err
	}
	if err := d.run(ctx, ns, kind, config, options); err != nil {
		return nil, errors.Join(err, d.Stop())
	}
	return d, nil
}

func (d *Daemons) run(ctx context.Context, ns netns.NsHandle, kind, config string, options []Option) error {
	for _, o := range options {
		if err := o(d); err != nil {
			return err
		}
	}
	programs, err := d.prepare(ctx, kind, config)
	if err != nil {
		return err
	}
	for _, p := range programs {
		if err := d.start(ns, p.command...); err != nil {
			return err
		}
		if err := d.await(ctx, ns, p); err != nil {
			return err
		}
		for _, child := range children(d.PID()) {
			if err := d.limit.add(child); err != nil {
				return err
			}
		}
	}
	return nil
}

// prepare writes the files of the processes, in the order in which these start, and has the
// one that speaks BGP check its own.
func (d *Daemons) prepare(ctx context.Context, kind, config string) ([]program, error) {
	var divided map[string]string
	if kind == FRR {
		divided = parts(config)
		config = divided[bgpd]
	}
	file := filepath.Join(d.folder.Path, kind+".conf")
	if config != "" {
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			return nil, err
		}
		if err := Check(ctx, kind, file); err != nil {
			return nil, err
		}
	}
	if kind != FRR {
		return programsOf(kind, d.folder.Path, file)
	}
	if err := forZebra(d.folder.Path); err != nil {
		return nil, err
	}
	return frrDaemons(d.folder.Path, file, divided)
}

// readyTime is the time that a daemon may take until it is ready.
const readyTime = 10 * time.Second

// await waits until a process is ready.
func (d *Daemons) await(ctx context.Context, ns netns.NsHandle, p program) error {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	for {
		if err := d.Err(); err != nil {
			return err
		}
		if _, err := os.Stat(p.ready); err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: it did not make %s", p.command[0], p.ready)
		case <-time.After(time.Millisecond):
		}
	}
	if p.also == nil {
		return nil
	}
	return p.also(ctx, ns)
}

// Check has the real daemon read a configuration file, and fails with what it says.
func Check(ctx context.Context, kind, file string) error {
	programs, err := programsOf(kind, filepath.Dir(file), file)
	if err != nil {
		return err
	}
	var command []string
	switch kind {
	case FRR:
		command = append(programs[len(programs)-1].command, "-C")
	case BIRD:
		command = []string{birdProgram, "-p", "-c", file}
	}
	out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
	// bgpd reports what it does not understand, and does not fail.
	if said := hidden(string(bytes.TrimSpace(out))); err != nil || strings.Contains(said, "config line") {
		return errors.Join(fmt.Errorf("%s refuses its configuration: %s", kind, said), err)
	}
	return nil
}

// secrets are in lines that a daemon repeats.
var secrets = regexp.MustCompile(`password .*`)

func hidden(said string) string { return secrets.ReplaceAllString(said, "password (hidden)") }

const (
	frrPrograms = "/usr/lib/frr/"
	birdProgram = "/usr/sbin/bird"
)

// program is one process of a router.
type program struct {
	// command with its arguments, and the file that it makes when it is ready.
	command []string
	ready   string
	// also waits for more than the file; nil where there is no more.
	also func(context.Context, netns.NsHandle) error
}

// programsOf are the processes of a router, with its folder and the configuration file.
func programsOf(kind, folder, file string) ([]program, error) {
	var all []program
	first := birdProgram
	switch kind {
	case FRR:
		first = frrPrograms + "bgpd"
		common := func(name, at string) []string {
			return []string{frrPrograms + name, "-P", "0", "-z", filepath.Join(folder, zebraFolder, "zserv"), "-i", filepath.Join(at, name+".pid"), "--vty_socket", at, "--log", "stdout", "--log-level", "warnings"}
		}
		own := filepath.Join(folder, zebraFolder)
		zebra := append(common("zebra", own), "-s", "90000000", "-f", filepath.Join(own, "zebra.conf"))
		all = append(all,
			program{command: append(zebra, zebraUser()...), ready: filepath.Join(own, "zserv")},
			program{command: append(common("bgpd", folder), "-S", "-u", "root", "-g", "root", "-f", file), ready: filepath.Join(folder, "bgpd.vty")})
	case BIRD:
		control := filepath.Join(folder, "bird.ctl")
		all = append(all, program{command: []string{birdProgram, "-f", "-c", file, "-s", control, "-P", filepath.Join(folder, "bird.pid")}, ready: control})
	default:
		return nil, fmt.Errorf("no router of the kind %q can be started; there are: %s, %s", kind, BIRD, FRR)
	}
	if _, err := os.Stat(first); err != nil {
		return nil, &MissingError{first, map[string]string{FRR: "frr", BIRD: "bird2"}[kind]}
	}
	return all, nil
}

// zebraFolder is the directory of zebra's files. zebra runs as a user of FRR if there is one,
// and refuses to run as root unless root is in a group of FRR.
const zebraFolder = "zebra"

func zebraUser() []string {
	if _, err := user.Lookup(frrUser); err != nil {
		return nil
	}
	return []string{"-u", frrUser, "-g", frrUser}
}

// frrUser is the user of the packages of FRR.
const frrUser = "frr"

// forZebra makes the folder of zebra with an empty configuration, as it would read that
// of the machine otherwise.
func forZebra(folder string) error {
	own := filepath.Join(folder, zebraFolder)
	if err := os.Mkdir(own, 0o750); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(own, "zebra.conf"), nil, 0o644); err != nil {
		return err
	}
	u, err := user.Lookup(frrUser)
	if err != nil {
		return nil
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return fmt.Errorf("the number of user %s: %w", frrUser, err)
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return fmt.Errorf("the group of user %s: %w", frrUser, err)
	}
	return os.Chown(own, uid, gid)
}

// start starts a process on a thread that lives as long as it, since the kernel sends the
// signal of Pdeathsig when the thread ends. A process that changes its user, such as zebra,
// does not get it.
func (d *Daemons) start(ns netns.NsHandle, command ...string) error {
	c := exec.Command(command[0], command[1:]...)
	out := &bytes.Buffer{}
	c.Stdout, c.Stderr = out, out
	// In a process group of its own, an interrupt from the terminal does not reach it.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	started, ended := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // The thread ends with its goroutine, as it has moved.
		err := netns.Set(ns)
		if err == nil {
			err = c.Start()
		}
		if started <- err; err == nil {
			_ = c.Wait()
			close(ended)
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("starting %s: %w", command[0], err)
	}
	d.commands, d.ended, d.output = append(d.commands, c), append(d.ended, ended), append(d.output, out)
	return d.limit.add(c.Process.Pid)
}

// Err reports which process has ended by itself, and why; nil while all run.
func (d *Daemons) Err() error {
	for i, ended := range d.ended {
		select {
		case <-ended:
			text := fmt.Sprintf("%s ended (%v)", filepath.Base(d.commands[i].Path), d.commands[i].ProcessState)
			if why := d.limit.reached(); why != "" {
				text += ": " + why
			} else if said := strings.TrimSpace(d.output[i].String()); said != "" {
				text += ": " + hidden(said)
			}
			return errors.New(text)
		default:
		}
	}
	return nil
}

// PID of the process that speaks BGP; without one, of ldpd or pimd.
func (d *Daemons) PID() int { return d.commands[len(d.commands)-1].Process.Pid }

// Stop ends the processes and removes their files. It may be called more than once.
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
	err := errors.Join(d.limit.remove(), d.folder.Remove())
	d.limit, d.folder = nil, nil
	return err
}
