//go:build linux

package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"nodrop.dev/nodrop/internal/traffic/trex"
)

const (
	// Binary is the server's own program in Config.Dir, without the scripts around it.
	Binary = "_t-rex-64"
	// graceDefault is the time that the server has to end by itself. It takes less than a
	// second, unless it hangs.
	graceDefault = 5 * time.Second
	// askEvery is the interval at which a server that starts is asked whether it answers,
	// and askTimeout the time limit of one such request.
	askEvery   = 50 * time.Millisecond
	askTimeout = 2 * time.Second
	// statePrefix begins the name of the private directory.
	statePrefix = "trex-"
)

// Options of starting a server that are not part of its Config.
type Options struct {
	// StateDir is the directory in which a private directory for the configuration file
	// and DPDK's run-time files is made; empty means the system's directory for temporary
	// files. Its path must be short, as for Unix sockets: the error of Start states the
	// limit.
	StateDir string
	// Output gets each line that the server writes, without its end, and warnings of
	// how it is laid out; nil drops them. It must not wait for the server.
	Output func(line string)
	// Grace is the time that the server has to end after SIGINT, before it is killed; 0
	// means 5 s.
	Grace time.Duration
	// Guard keeps the RPC to the loopback interface, by rules of nftables in the
	// network namespace of this process, for as long as the server runs. It takes
	// NET_ADMIN. Without it anyone who reaches an address of the namespace can drive the
	// server.
	Guard bool
}

// Server is a running TRex server.
type Server struct {
	endpoint string
	version  string
	dir      string
	guarded  int // the RPC port; 0 without a guard
	grace    time.Duration
	process  *os.Process
	output   *output
	done     chan struct{}
	err      error // written before done is closed

	stop    sync.Once
	stopped chan struct{}
}

// Start starts a server and waits until its RPC answers. It fails as soon as the
// server ends, with the last lines that it wrote, or when ctx ends; nothing of it is
// left then. ctx does not bound the server's life: Close ends it, and so does the end
// of this process.
func Start(ctx context.Context, c Config, o Options) (*Server, error) {
	machine, err := ThisMachine("/proc", "/sys")
	if err != nil {
		return nil, err
	}
	if err := portsFree(c.RPCPort); err != nil {
		return nil, err
	}
	state, err := stateDir(o)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(state, statePrefix)
	if err != nil {
		return nil, fmt.Errorf("making a directory for TRex's configuration: %w", err)
	}
	s := &Server{
		endpoint: "tcp://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(c.RPCPort)),
		dir:      dir,
		grace:    o.Grace,
		output:   &output{each: o.Output},
		done:     make(chan struct{}),
		stopped:  make(chan struct{}),
	}
	if s.grace == 0 {
		s.grace = graceDefault
	}
	launch, err := Configure(c, filepath.Base(dir), os.Getenv, machine)
	if o.Output != nil {
		for _, w := range launch.Warnings {
			o.Output("warning: " + w)
		}
	}
	if err == nil && o.Guard {
		if err = guard(c.RPCPort); err == nil {
			s.guarded = c.RPCPort
		}
	}
	if err == nil {
		err = s.launch(c.Dir, launch)
	}
	if err != nil {
		return nil, errors.Join(err, s.clear())
	}
	if err := s.ready(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// stateDir is the directory in which the private one is made. It fails when DPDK could
// not make the Unix socket in there whose path is longest, without which it does not
// start: dpdk/PREFIX/dpdk_telemetry.v2 below the private directory, whose name is the
// prefix.
func stateDir(o Options) (string, error) {
	dir, err := filepath.Abs(cmp.Or(o.StateDir, os.TempDir()))
	if err != nil {
		return "", err
	}
	name := statePrefix + strconv.Itoa(math.MaxUint32) // the longest that os.MkdirTemp makes
	deeper := len(filepath.Join("/", name, "dpdk", name, "dpdk_telemetry.v2"))
	most := len(syscall.RawSockaddrUnix{}.Path) - 1 // a zero ends it
	if len(dir)+deeper > most {
		return "", fmt.Errorf("the directory for TRex's run-time files, %s, has a path of %d bytes: DPDK makes a Unix socket %d bytes deeper, whose path has at most %d; choose one of at most %d bytes (--state-dir of nodrop trex serve, TMPDIR of nodrop run)",
			dir, len(dir), deeper, most, most-deeper)
	}
	return dir, nil
}

// portsFree fails when another program has one of the server's TCP ports, which
// would answer instead of the server.
func portsFree(rpc int) error {
	for _, port := range []int{rpc, rpc - 1} {
		l, err := net.Listen("tcp", ":"+strconv.Itoa(port))
		if err != nil {
			return fmt.Errorf("TCP port %d, which TRex needs (rpcPort %d and the one below it), is not free: %w; end the program that uses it, or choose another rpcPort", port, rpc, err)
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
	return nil
}

// launch starts the program.
func (s *Server) launch(programs string, launch Launch) error {
	path := filepath.Join(s.dir, "trex.yaml")
	if err := os.WriteFile(path, launch.File, 0o600); err != nil {
		return fmt.Errorf("writing TRex's configuration: %w", err)
	}
	programs, err := filepath.Abs(programs)
	if err != nil {
		return err
	}
	cmd := exec.Command(filepath.Join(programs, Binary), append([]string{"--cfg", path}, launch.Args...)...)
	cmd.Dir = programs
	cmd.Env = append(os.Environ(),
		"LD_LIBRARY_PATH="+strings.Join([]string{programs, filepath.Join(programs, "so"), filepath.Join(programs, "so", arch())}, ":"),
		// DPDK keeps its run-time files here instead of /var/run, where they would stay.
		"RUNTIME_DIRECTORY="+s.dir,
	)
	cmd.Stdout, cmd.Stderr = s.output, s.output
	cmd.WaitDelay = time.Second // a child of the server that holds its output
	// The server gets no signals of the terminal, only those of this process. The kernel
	// kills it when this process dies.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}

	started := make(chan error)
	go func() {
		// The kernel takes the end of the thread that started the server for the end of
		// this process, so this thread stays for as long as the server runs.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- cannotStart(err, programs)
			return
		}
		s.process = cmd.Process
		started <- nil
		s.err = s.verdict(cmd.Wait())
		close(s.done)
	}()
	return <-started
}

// cannotStart returns an error that explains why the program of a directory was not started.
func cannotStart(err error, dir string) error {
	if errors.Is(err, syscall.ENOEXEC) {
		return fmt.Errorf("%s is not a program for this machine (%s): use the release of TRex for its processor", filepath.Join(dir, Binary), runtime.GOARCH)
	}
	return fmt.Errorf("starting TRex: %w; dir %s must hold the server as Dockerfile.trex installs it", err, dir)
}

// arch returns TRex's name of the processor's architecture, as in the names of directories.
func arch() string {
	switch runtime.GOARCH {
	case "amd64":
		return "x86_64"
	case "arm64":
		return "aarch64"
	}
	return runtime.GOARCH
}

// verdict returns an error that describes how the server ended. An end after a signal of this
// process is no error.
func (s *Server) verdict(err error) error {
	select {
	case <-s.stopped:
		return nil
	default:
	}
	how := "exit status 0"
	if err != nil {
		how = err.Error()
	}
	return &Ended{How: how, Last: s.output.last()}
}

// ready waits until the server answers.
func (s *Server) ready(ctx context.Context) error {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		ask, cancel := context.WithTimeout(ctx, askTimeout)
		version, err := trex.Ping(ask, s.endpoint)
		cancel()
		select {
		case <-s.done:
			return s.err
		default:
		}
		if err == nil {
			s.version = version
			return nil
		}
		select {
		case <-s.done:
			return s.err
		case <-ctx.Done():
			return fmt.Errorf("the TRex server did not answer at %s: %w (%w); %s", s.endpoint, context.Cause(ctx), err, lastLines(s.output.last()))
		case <-tick.C:
		}
	}
}

// Endpoint returns the address of the server's RPC, such as tcp://127.0.0.1:4501.
func (s *Server) Endpoint() string { return s.endpoint }

// Version returns the version that the server reports, such as v3.08.
func (s *Server) Version() string { return s.version }

// Done is closed when the server has ended, by itself or by Close.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err returns the reason why the server ended, with the last lines that it wrote; nil while it
// runs and after Close.
func (s *Server) Err() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// Close interrupts the server, kills it when it does not end, and waits until nothing
// of it is left. It may be called again.
func (s *Server) Close() error {
	s.stop.Do(func() {
		close(s.stopped)
		// The process may have ended meanwhile; then there is nothing to signal.
		_ = s.process.Signal(os.Interrupt)
	})
	patience := time.NewTimer(s.grace)
	defer patience.Stop()
	select {
	case <-s.done:
	case <-patience.C:
		_ = s.process.Kill()
		<-s.done
	}
	return s.clear()
}

// clear removes the server's files and rules.
func (s *Server) clear() error {
	var errs []error
	if s.guarded != 0 {
		errs = append(errs, unguard(s.guarded))
	}
	if err := os.RemoveAll(s.dir); err != nil {
		errs = append(errs, fmt.Errorf("removing TRex's run-time files: %w", err))
	}
	return errors.Join(errs...)
}

// Alive asks the server at an endpoint for its version, once.
func Alive(ctx context.Context, endpoint string) (version string, err error) {
	return trex.Ping(ctx, endpoint)
}
