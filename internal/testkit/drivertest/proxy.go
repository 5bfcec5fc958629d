package drivertest

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// proxy stands between the driver and the server of the device, and breaks connections. A target that begins with "/" is a socket
// of this machine.
type proxy struct {
	listener net.Listener
	target   string

	mu sync.Mutex
	// refuse is the number of connections that are closed at once.
	refuse int
	// cutAfter is the number of bytes after which the next connection that has sent them is cut; 0 cuts none.
	cutAfter int
	// cut is called when one was cut; it may be nil.
	cut func()
}

// refuseNext has the next connections be closed at once, and returns how many of those before were left.
func (p *proxy) refuseNext(n int) (left int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	left, p.refuse = p.refuse, n
	return left
}

// cutNext has a connection be cut once it has sent some bytes.
func (p *proxy) cutNext(after int, cut func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cutAfter, p.cut = after, cut
}

func startProxy(t *testing.T, target string) *proxy {
	t.Helper()
	network, address := network(target), "127.0.0.1:0"
	if network == "unix" {
		folder, err := os.MkdirTemp("", "") // A socket may not have a long path.
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(folder) })
		address = filepath.Join(folder, "proxy.sock")
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, target: target}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go p.forward(conn)
		}
	}()
	return p
}

// network of an address.
func network(address string) string {
	if strings.HasPrefix(address, "/") {
		return "unix"
	}
	return "tcp"
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) forward(from net.Conn) {
	defer func() { _ = from.Close() }()
	p.mu.Lock()
	if p.refuse > 0 {
		p.refuse--
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	to, err := net.Dial(network(p.target), p.target)
	if err != nil {
		return
	}
	defer func() { _ = to.Close() }()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		defer func() { _ = from.Close() }()
		b := make([]byte, 64<<10)
		for {
			n, err := to.Read(b)
			if _, failed := from.Write(b[:n]); err != nil || failed != nil {
				return
			}
		}
	}()
	b := make([]byte, 64<<10)
	for sent := 0; ; {
		n, err := from.Read(b)
		if _, failed := to.Write(b[:n]); failed != nil {
			return
		}
		sent += n
		if p.isCut(sent) {
			return
		}
		if err != nil { // The client has sent everything, and may wait for the answer.
			if c, can := to.(interface{ CloseWrite() error }); can && errors.Is(err, io.EOF) && c.CloseWrite() == nil {
				<-answered
			}
			return
		}
	}
}

// isCut reports whether a connection that has sent some bytes is cut now.
func (p *proxy) isCut(sent int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cutAfter == 0 || sent < p.cutAfter {
		return false
	}
	p.cutAfter = 0
	if p.cut != nil {
		p.cut()
	}
	return true
}
