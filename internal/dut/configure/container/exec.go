package container

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"nodrop.dev/nodrop/internal/base/human"
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/commands"
)

// environment of what runs in a container. Lines are not wrapped at the end of a terminal, which there is none of.
var environment = []string{"TERM=dumb", "COLUMNS=4096", "LINES=1000"}

// process is a program that runs in a container. Its input ends with the connection, so that a command line ends, too.
type process struct {
	runtime *runtime
	id      string
	conn    net.Conn
	from    *bufio.Reader
}

// start starts a program in the container, without a terminal.
func (r *runtime) start(program ...string) (*process, error) {
	var made struct{ ID string }
	if _, err := r.ask(http.MethodPost, "/containers/"+r.container+"/exec", map[string]any{
		"Cmd": program, "Env": environment, "AttachStdin": true, "AttachStdout": true, "AttachStderr": true,
	}, &made); err != nil {
		return nil, err
	}
	conn, err := r.dial(r.ctx, "", "")
	if err != nil {
		return nil, err
	}
	p := &process{runtime: r, id: made.ID, conn: conn, from: bufio.NewReader(conn)}
	if err := p.attach(); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return p, nil
}

// attach begins the program, whose input and output then take the connection.
func (p *process) attach() error {
	request, err := p.runtime.request(p.runtime.ctx, http.MethodPost, "/exec/"+p.id+"/start", map[string]any{"Detach": false, "Tty": false})
	if err != nil {
		return err
	}
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", "tcp")
	_ = p.conn.SetDeadline(time.Now().Add(p.runtime.within))
	defer func() { _ = p.conn.SetDeadline(time.Time{}) }()
	if err := request.Write(p.conn); err != nil {
		return unreachable(err)
	}
	answer, err := http.ReadResponse(p.from, request)
	if err != nil {
		return unreachable(err)
	}
	if answer.StatusCode == http.StatusSwitchingProtocols || answer.StatusCode == http.StatusOK {
		return nil // What follows is no body: it has the output.
	}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	_ = answer.Body.Close()
	return complaint(answer.StatusCode, text)
}

// Programs that cannot be started end with these, as those of a shell do.
const (
	notExecutable = 126
	notFound      = 127
)

// isMissing reports whether the program could not be started. Its output is then the message of the runtime.
func (p *process) isMissing() bool {
	var found struct {
		Running  bool
		ExitCode int
	}
	_, err := p.runtime.ask(http.MethodGet, "/exec/"+p.id+"/json", nil, &found)
	return err == nil && !found.Running && (found.ExitCode == notExecutable || found.ExitCode == notFound)
}

// wrapper runs the command that is its argument, and prints how it ended behind its output: a connection that is lost may end
// at any place, and output without this has lost its end.
const wrapper = `sh -c "$1"; printf '\0nodrop: ended with %d\0' $?`

// ended matches what the wrapper prints.
var ended = regexp.MustCompile("\x00nodrop: ended with ([0-9]+)\x00$")

// Run implements commands.Connection. The command is one of the container's shell.
func (r *runtime) Run(command, input string) (out, problems string, _ error) {
	p, err := r.start("sh", "-c", wrapper, "nodrop", command)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = p.conn.Close() }()
	go func() {
		// A command that reads no input closes it: what it prints decides.
		if _, err := io.WriteString(p.conn, input); err == nil {
			_ = p.endInput()
		}
	}()
	var printed, complained commands.Output
	err = p.collect(&printed, &complained)
	if errors.Is(err, commands.ErrTooLong) {
		return "", "", err
	}
	if end := ended.FindSubmatchIndex(printed.Bytes()); end != nil {
		out, problems = string(printed.Bytes()[:end[0]]), complained.String()
		if status, err := strconv.Atoi(string(printed.Bytes()[end[2]:end[3]])); err != nil || status != 0 {
			return out, problems, &commands.ExitError{Status: status}
		}
		return out, problems, nil
	}
	if p.isMissing() {
		return "", printed.String(), &commands.ExitError{Status: notFound}
	}
	return "", "", fmt.Errorf("%w: %w", commands.ErrLost, cmp.Or(err, io.ErrUnexpectedEOF))
}

// endInput ends the input of the program.
func (p *process) endInput() error {
	c, can := p.conn.(interface{ CloseWrite() error })
	if !can {
		return errors.New("the connection cannot end its input")
	}
	return c.CloseWrite()
}

// console is a command line in a container.
type console struct {
	*process
	out io.Reader
	// last is the end of what it printed, to explain its end.
	last []byte
}

// Console implements commands.Connection.
func (r *runtime) Console(program string) (io.ReadWriter, error) {
	if program == "" {
		return nil, fmt.Errorf("%w: command lines of this platform were not tried in a container: reach the device by SSH", configure.ErrRefused)
	}
	p, err := r.start(program)
	if err != nil {
		return nil, err
	}
	return &console{process: p, out: p.both()}, nil
}

// maxLast bounds what is kept of the output, in bytes.
const maxLast = 400

// Read implements io.Reader.
func (c *console) Read(b []byte) (int, error) {
	n, err := c.out.Read(b)
	c.last = append(c.last, b[:n]...)
	c.last = c.last[max(0, len(c.last)-maxLast):]
	if err == nil {
		return n, nil
	}
	if c.isMissing() {
		err = fmt.Errorf("%w: the container does not run the command line of the device: %s", configure.ErrRefused, human.Cut(strings.TrimSpace(string(c.last)), maxLast))
	}
	return n, err
}

// Write implements io.Writer.
func (c *console) Write(b []byte) (int, error) { return c.conn.Write(b) }
