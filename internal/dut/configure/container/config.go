package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/commands"
)

// defaultHost is the address at which Docker listens, unless DOCKER_HOST names another one.
const defaultHost = "unix:///var/run/docker.sock"

// Config contains what it takes to run commands in a container.
type Config struct {
	// Name or ID of the container.
	Name string
	// Host is the address of the runtime, in the form of DOCKER_HOST; empty is DOCKER_HOST, or where Docker listens.
	Host string
	// Timeout bounds the answer to each command; 0 is configure.DefaultTimeout.
	Timeout time.Duration
}

var _ commands.Access = Config{}

// names matches names and IDs of containers.
var names = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`)

// Check implements commands.Access.
func (c Config) Check() error {
	if !names.MatchString(c.Name) {
		return fmt.Errorf("container: Invalid value: %q: want the name of a container, such as clab-lab-router: letters, digits and _.-", c.Name)
	}
	_, err := c.socket()
	return err
}

// Describe implements commands.Access.
func (c Config) Describe() string { return "container " + c.Name }

// AnswerWithin implements commands.Access.
func (c Config) AnswerWithin() time.Duration {
	return cmp.Or(max(c.Timeout, 0), configure.DefaultTimeout)
}

// socket returns the path of the runtime's socket.
func (c Config) socket() (string, error) {
	host := cmp.Or(c.Host, os.Getenv("DOCKER_HOST"), defaultHost)
	path, is := strings.CutPrefix(host, "unix://")
	if !is {
		return "", fmt.Errorf("DOCKER_HOST: Unsupported value: %q: want the socket of a runtime on this machine, such as %s", host, defaultHost)
	}
	return path, nil
}

// Open implements commands.Access. The container has to run.
func (c Config) Open(ctx context.Context) (commands.Connection, error) {
	socket, err := c.socket()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &runtime{ctx: ctx, cancel: cancel, socket: socket, within: c.AnswerWithin()}
	if err := r.find(c.Name); err != nil {
		cancel()
		return nil, err
	}
	return r, nil
}

// find keeps the ID of a container: one that takes its name later is another device.
func (r *runtime) find(name string) error {
	var found struct {
		ID    string `json:"Id"`
		State struct {
			Status          string
			Running, Paused bool
		}
	}
	switch status, err := r.ask(http.MethodGet, "/containers/"+name+"/json", nil, &found); {
	case status == http.StatusNotFound:
		return fmt.Errorf("%w: the runtime at %s has no container %s: see docker ps -a", configure.ErrRefused, r.socket, name)
	case err != nil:
		return err
	case found.State.Paused || !found.State.Running:
		return fmt.Errorf("%w: container %s is %s", configure.ErrUnreachable, name, found.State.Status)
	}
	r.container = found.ID
	return nil
}

// dial connects to the runtime. The connection ends with the context.
func (r *runtime) dial(context.Context, string, string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: r.within}).DialContext(r.ctx, "unix", r.socket)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%w: %w: want a user who may open the socket of the container runtime, such as root or a member of its group", configure.ErrRefused, err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", configure.ErrUnreachable, err)
	}
	context.AfterFunc(r.ctx, func() { _ = conn.Close() })
	return conn, nil
}
