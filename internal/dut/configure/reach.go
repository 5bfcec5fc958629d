package configure

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"time"
)

// DefaultTimeout is how long a device may take to answer where nothing else is said.
const DefaultTimeout = 30 * time.Second

// Reach contains what it takes to reach a device, whatever its protocol is.
type Reach struct {
	// Address is host:port. It is empty for a device in a container.
	Address string
	// Container is the name of a container of this machine in which the device runs, in place of Address and Key.
	Container string
	// Files are the paths of the files that are the configuration of the platform files, and Reload is the command that makes
	// them effective.
	Files  []string
	Reload string
	// Key returns what a key of the device's Secret has, such as password. It fails with fs.ErrNotExist for a key that is not there.
	Key func(key string) ([]byte, error)
	// Dial connects to the device; nil connects from the network of this process.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Timeout bounds the connection, and each answer of the device; 0 is DefaultTimeout.
	Timeout time.Duration
}

// Access contains the keys of a device's Secret.
type Access map[string][]byte

// ReadAccess reads some keys. A key that is not there is empty. No value is repeated in an error.
func ReadAccess(read func(key string) ([]byte, error), keys ...string) (Access, error) {
	access := Access{}
	for _, key := range keys {
		value, err := read(key)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("key %s: %w", key, err)
		}
		access[key] = value
	}
	return access, nil
}

// Line returns a key that has one line, without its end.
func (a Access) Line(key string) string { return strings.TrimRight(string(a[key]), "\r\n") }

// Dialed connects to an address by dial, or from the network of this process if it is nil, within a time. It fails with
// ErrUnreachable.
func Dialed(ctx context.Context, dial func(ctx context.Context, network, address string) (net.Conn, error), address string, within time.Duration) (net.Conn, error) {
	if dial == nil {
		dial = (&net.Dialer{Timeout: within}).DialContext
	}
	conn, err := dial(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return conn, nil
}

// SecretNames is a pattern of names of elements and leaves whose value is a secret.
const SecretNames = `[\w.\-]*(?i:password|passphrase|secret|community|private-key|auth-key|key-string)[\w.\-]*` //nolint:gosec // A pattern, no secret.
