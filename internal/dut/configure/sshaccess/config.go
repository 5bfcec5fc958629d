package sshaccess

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"nodrop.dev/nodrop/internal/dut/configure"
)

// Config contains what it takes to reach a device.
type Config struct {
	// Address is host:port.
	Address string
	User    string
	// Password and PrivateKey (PEM) authenticate the user; one of them may be empty.
	Password   string
	PrivateKey []byte
	// HostKeys are the keys that the device may have, a line for each as in known_hosts or in a .pub file.
	HostKeys []byte
	// Dial connects to the device; nil connects from the network of this process.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Timeout bounds the connection, and the answer to each command; 0 is configure.DefaultTimeout.
	Timeout time.Duration
}

// AnswerWithin returns how long the device may take to answer.
func (c Config) AnswerWithin() time.Duration {
	return cmp.Or(max(c.Timeout, 0), configure.DefaultTimeout)
}

// HostKeyError reports that a device has none of the keys that it may have.
type HostKeyError struct {
	Address string
	// Got is the fingerprint of the device's key.
	Got string
	// Want are the fingerprints of the keys that it may have.
	Want []string
}

func (e *HostKeyError) Error() string {
	return fmt.Sprintf("the device at %s has the host key %s, and may have %s: if its key was changed on purpose, replace it in the list of host keys",
		e.Address, e.Got, strings.Join(e.Want, " or "))
}

// Check fails for settings that cannot connect, with the name of the field. It does not connect.
func (c Config) Check() error {
	_, err := c.client()
	return err
}

// client returns the settings of an SSH client. It refuses a configuration that cannot connect.
func (c Config) client() (*ssh.ClientConfig, error) {
	if _, _, err := net.SplitHostPort(c.Address); err != nil {
		return nil, fmt.Errorf("address: Invalid value: %q: want host:port, such as 192.0.2.1:22", c.Address)
	}
	keys, err := c.hostKeys()
	if err != nil {
		return nil, err
	}
	methods, err := c.methods()
	if err != nil {
		return nil, err
	}
	return &ssh.ClientConfig{
		User: c.User, Auth: methods, Timeout: c.AnswerWithin(),
		HostKeyAlgorithms: algorithmsOf(keys), HostKeyCallback: c.accepts(keys),
	}, nil
}

// hostKeysRequired is the remedy where no host keys are given.
const hostKeysRequired = "Required value: give the keys that the device may have, such as the lines that ssh-keyscan prints; check them at the device"

// hostKeys reads the keys that the device may have.
func (c Config) hostKeys() (keys []ssh.PublicKey, err error) {
	for line := range bytes.Lines(c.HostKeys) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		key, _, _, _, err := ssh.ParseAuthorizedKey(line)
		if err != nil {
			_, _, key, _, _, err = ssh.ParseKnownHosts(line)
		}
		if err != nil {
			return nil, fmt.Errorf("host keys: %w: want lines of known_hosts or of a .pub file, such as those that ssh-keyscan prints", err)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("host keys: " + hostKeysRequired)
	}
	return keys, nil
}

// algorithmsOf returns the host key algorithms by which a device may show one of the keys, and behind them all others: a device with
// another kind of key shows which one it has, and is refused.
func algorithmsOf(keys []ssh.PublicKey) (algorithms []string) {
	for _, k := range keys {
		if k.Type() == ssh.KeyAlgoRSA {
			algorithms = append(algorithms, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		}
		algorithms = append(algorithms, k.Type())
	}
	for _, other := range ssh.SupportedAlgorithms().HostKeys {
		if !slices.Contains(algorithms, other) {
			algorithms = append(algorithms, other)
		}
	}
	return algorithms
}

// accepts returns a function that fails with a HostKeyError for a key that is not one of the keys.
func (c Config) accepts(keys []ssh.PublicKey) ssh.HostKeyCallback {
	return func(_ string, _ net.Addr, key ssh.PublicKey) error {
		unknown := &HostKeyError{Address: c.Address, Got: ssh.FingerprintSHA256(key)}
		for _, k := range keys {
			if bytes.Equal(k.Marshal(), key.Marshal()) {
				return nil
			}
			unknown.Want = append(unknown.Want, ssh.FingerprintSHA256(k))
		}
		return unknown
	}
}

// methods returns the ways to authenticate the user.
func (c Config) methods() (methods []ssh.AuthMethod, err error) {
	if len(c.PrivateKey) > 0 {
		signer, err := ssh.ParsePrivateKey(c.PrivateKey)
		if err != nil {
			return nil, errors.New("private key: want a key in PEM without a passphrase, such as ssh-keygen -t ed25519 makes")
		}
		methods = append(methods, ssh.PublicKeys(signer))
	}
	if c.Password != "" {
		methods = append(methods, ssh.Password(c.Password), ssh.KeyboardInteractive(func(_, _ string, questions []string, _ []bool) ([]string, error) {
			return slices.Repeat([]string{c.Password}, len(questions)), nil
		}))
	}
	if len(methods) == 0 {
		return nil, errors.New("credentials: Required value: give a password or a private key")
	}
	return methods, nil
}
