package sshcli

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// Config contains what it takes to reach a device.
type Config struct {
	Platform *Platform
	// Address is host:port.
	Address string
	User    string
	// Password and PrivateKey (PEM) authenticate the user; one of them may be empty.
	Password   string
	PrivateKey []byte
	// HostKeys are the keys that the device may have, a line for each as in known_hosts or in a .pub file.
	HostKeys []byte
	// Timeout bounds the connection, and the answer to each command; 0 is 30 s.
	Timeout time.Duration
}

const defaultTimeout = 30 * time.Second

func (c *Config) timeout() time.Duration {
	if c.Timeout > 0 {
		return c.Timeout
	}
	return defaultTimeout
}

// HostKeyError reports that a device has none of the keys that it may have.
type HostKeyError struct {
	Address string
	// Got is the fingerprint of the device's key, and Want those of the keys that it may have.
	Got  string
	Want []string
}

func (e *HostKeyError) Error() string {
	return fmt.Sprintf("the device at %s has the host key %s, and may have %s: if its key was changed on purpose, replace it in the list of host keys",
		e.Address, e.Got, strings.Join(e.Want, " or "))
}

// parse reads keys, and refuses a configuration that cannot connect.
func (c *Config) parse() (keys []ssh.PublicKey, signer ssh.Signer, err error) {
	if _, _, err := net.SplitHostPort(c.Address); err != nil {
		return nil, nil, fmt.Errorf("address: Invalid value: %q: want host:port, such as 192.0.2.1:22", c.Address)
	}
	for rest := c.HostKeys; len(bytes.TrimSpace(rest)) > 0; {
		var key ssh.PublicKey
		if key, rest, err = nextKey(rest); err != nil {
			return nil, nil, fmt.Errorf("host keys: %w: want lines of known_hosts or of a .pub file, such as those that ssh-keyscan prints", err)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, nil, errors.New("host keys: Required value: give the keys that the device may have, such as the lines that ssh-keyscan prints; check them at the device")
	}
	if len(c.PrivateKey) > 0 {
		if signer, err = ssh.ParsePrivateKey(c.PrivateKey); err != nil {
			return nil, nil, errors.New("private key: want a key in PEM without a passphrase, such as ssh-keygen -t ed25519 makes")
		}
	}
	if signer == nil && c.Password == "" {
		return nil, nil, errors.New("credentials: Required value: give a password or a private key")
	}
	return keys, signer, nil
}

// nextKey reads the first line that has a key.
func nextKey(lines []byte) (key ssh.PublicKey, rest []byte, err error) {
	line, rest, _ := bytes.Cut(bytes.TrimLeft(lines, "\r\n\t "), []byte("\n"))
	if key, _, _, _, err := ssh.ParseAuthorizedKey(line); err == nil {
		return key, rest, nil
	}
	_, _, key, _, _, err = ssh.ParseKnownHosts(line)
	return key, rest, err
}

// client returns the settings of an SSH client. The configuration was parsed before.
func (c *Config) client() *ssh.ClientConfig {
	keys, signer, _ := c.parse()
	var algorithms, want []string
	for _, k := range keys {
		want = append(want, ssh.FingerprintSHA256(k))
		if k.Type() == ssh.KeyAlgoRSA {
			algorithms = append(algorithms, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		}
		algorithms = append(algorithms, k.Type())
	}
	out := &ssh.ClientConfig{
		User: c.User, HostKeyAlgorithms: algorithms, Timeout: c.timeout(),
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
			for _, k := range keys {
				if bytes.Equal(k.Marshal(), key.Marshal()) {
					return nil
				}
			}
			return &HostKeyError{c.Address, ssh.FingerprintSHA256(key), want}
		},
	}
	if signer != nil {
		out.Auth = append(out.Auth, ssh.PublicKeys(signer))
	}
	if c.Password != "" {
		out.Auth = append(out.Auth, ssh.Password(c.Password), ssh.KeyboardInteractive(func(_, _ string, questions []string, _ []bool) ([]string, error) {
			answers := make([]string, len(questions))
			for i := range answers {
				answers[i] = c.Password
			}
			return answers, nil
		}))
	}
	return out
}
