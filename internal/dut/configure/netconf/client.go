package netconf

import (
	"bufio"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/sshaccess"
)

// base is the namespace of NETCONF's own elements.
const base = "urn:ietf:params:xml:ns:netconf:base:1.0"

// Capabilities of a server (RFC 6241 section 8).
const (
	chunkedFraming  = "urn:ietf:params:netconf:base:1.1"
	candidate       = "urn:ietf:params:netconf:capability:candidate:1.0"
	confirmedCommit = "urn:ietf:params:netconf:capability:confirmed-commit:1.1"
)

// client is a NETCONF session.
type client struct {
	connection *ssh.Client
	frames     frames
	// within is how long the device may take to answer.
	within       time.Duration
	capabilities []string
	// last is the number of the last request.
	last int
}

// open starts a session. It fails with configure.ErrUnreachable or configure.ErrRefused.
func open(ctx context.Context, access *sshaccess.Config) (_ *client, err error) {
	connection, err := access.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &client{connection: connection, within: access.AnswerWithin()}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	session, err := connection.NewSession()
	if err != nil {
		return nil, lost(err)
	}
	in, err := session.StdinPipe()
	if err != nil {
		return nil, lost(err)
	}
	out, err := session.StdoutPipe()
	if err != nil {
		return nil, lost(err)
	}
	if err := session.RequestSubsystem("netconf"); err != nil {
		if _, _, alive := connection.SendRequest("keepalive@openssh.com", true, nil); alive != nil {
			return nil, lost(err)
		}
		return nil, fmt.Errorf("%w: the SSH server has no subsystem netconf at this port", configure.ErrRefused)
	}
	c.frames = frames{in: in, out: bufio.NewReaderSize(out, 64<<10)}
	return c, c.hello()
}

func lost(err error) error { return fmt.Errorf("%w: %w", configure.ErrUnreachable, err) }

// hello exchanges the capabilities of both sides.
func (c *client) hello() error {
	var hello struct {
		XMLName      xml.Name `xml:"hello"`
		Capabilities []string `xml:"capabilities>capability"`
		Session      string   `xml:"session-id"`
	}
	text, err := c.exchange(`<hello xmlns="` + base + `"><capabilities><capability>` + base + `</capability><capability>` + chunkedFraming + `</capability></capabilities></hello>`)
	if err != nil {
		return err
	}
	if err := xml.Unmarshal(text, &hello); err != nil || hello.Session == "" { // Only a server gives the session a number.
		return fmt.Errorf("%w: it does not say hello as a NETCONF server: %q", configure.ErrRefused, text[:min(len(text), 80)])
	}
	for _, text := range hello.Capabilities {
		c.capabilities = append(c.capabilities, strings.TrimSpace(text))
	}
	if !c.has(candidate) {
		return fmt.Errorf("%w: the device has no candidate configuration (%s)", configure.ErrRefused, candidate)
	}
	c.frames.chunked = c.has(chunkedFraming)
	return nil
}

// has reports whether the device has a capability, given by its beginning.
func (c *client) has(capability string) bool {
	for _, text := range c.capabilities {
		if strings.HasPrefix(text, capability) {
			return true
		}
	}
	return false
}

// exchange sends a message and returns the next one.
func (c *client) exchange(message string) ([]byte, error) {
	late := time.AfterFunc(c.within, func() { _ = c.connection.Close() })
	defer late.Stop()
	if err := c.frames.send(xml.Header + message); err != nil {
		return nil, lost(err)
	}
	text, err := c.frames.receive()
	if errors.Is(err, io.EOF) {
		err = errors.New("the device has ended the session")
	}
	if err != nil {
		return nil, lost(err)
	}
	return text, nil
}

// reply is the answer to a request (RFC 6241 section 4.2).
type reply struct {
	ID     string     `xml:"message-id,attr"`
	Errors []rpcError `xml:"rpc-error"`
	Data   struct {
		XML string `xml:",innerxml"`
	} `xml:"data"`
}

// rpcError is why a device did not carry out a request (RFC 6241 section 4.3).
type rpcError struct {
	Tag      string `xml:"error-tag"`
	Severity string `xml:"error-severity"`
	Path     string `xml:"error-path"`
	Message  string `xml:"error-message"`
}

func (e *rpcError) Error() string {
	text := strings.TrimSpace(e.Tag + ": " + strings.Join(strings.Fields(e.Message), " "))
	if path := strings.TrimSpace(e.Path); path != "" {
		text += " at " + path
	}
	return text
}

// request sends a request. It fails with an rpcError, and with configure.ErrUnreachable if it is unknown whether it was
// carried out.
func (c *client) request(operation string) (*reply, error) {
	c.last++
	id := strconv.Itoa(c.last)
	text, err := c.exchange(fmt.Sprintf(`<rpc xmlns="%s" message-id="%s">%s</rpc>`, base, id, operation))
	if err != nil {
		return nil, err
	}
	r := &reply{}
	if err := xml.Unmarshal(text, r); err != nil {
		return nil, lost(fmt.Errorf("reading the reply: %w", err))
	}
	for i := range r.Errors {
		if strings.TrimSpace(r.Errors[i].Severity) != "warning" {
			return nil, &r.Errors[i]
		}
	}
	if r.ID != id {
		return nil, lost(fmt.Errorf("the reply is to request %q, want %s", r.ID, id))
	}
	return r, nil
}

func (c *client) close() { _ = c.connection.Close() }
