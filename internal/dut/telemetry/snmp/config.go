package snmp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/gosnmp/gosnmp"
)

// Config contains what it takes to read a device.
type Config struct {
	// Address is host:port.
	Address string
	// Community of version 2c; empty for version 3.
	Community string
	// User, Authentication (SHA, SHA256 or SHA512) and the passwords of version 3.
	User, Authentication                    string
	AuthenticationPassword, PrivacyPassword string
	// Interfaces whose counters are read; empty for all.
	Interfaces []string
	// Dial connects to the device; nil connects from the network of this process.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

const (
	// timeout bounds an answer, of which retries are asked for again.
	timeout = 2 * time.Second
	retries = 2
	// repetitions is the number of values that are asked for at once: a response has to fit into a frame.
	repetitions = 20
)

var authentications = map[string]gosnmp.SnmpV3AuthProtocol{"SHA": gosnmp.SHA, "SHA256": gosnmp.SHA256, "SHA512": gosnmp.SHA512}

// minPassword is the length of the shortest password of version 3 (RFC 3414 section 11.2).
const minPassword = 8

// ReadAccess reads the credentials by their keys: community, or user, authenticationPassword and privacyPassword.
func (c *Config) ReadAccess(read func(key string) ([]byte, error)) error {
	get := func(key string) string {
		text, _ := textOf(read, key) // Check reports what is missing.
		return text
	}
	c.Community, c.User = get("community"), get("user")
	c.AuthenticationPassword, c.PrivacyPassword = get("authenticationPassword"), get("privacyPassword")
	return c.Check()
}

// ReadWriteAccess is ReadAccess for a device that is changed: of version 2c it reads writeCommunity, if that is there.
func (c *Config) ReadWriteAccess(read func(key string) ([]byte, error)) error {
	if err := c.ReadAccess(read); err != nil {
		return err
	}
	if community, err := textOf(read, "writeCommunity"); err == nil && c.Community != "" {
		c.Community = community
	}
	return c.Check()
}

// textOf returns what a key has, without the end of a line.
func textOf(read func(key string) ([]byte, error), key string) (string, error) {
	b, err := read(key)
	return strings.TrimRight(string(b), "\r\n"), err
}

// Check fails for settings that cannot work, with the name of the field.
func (c *Config) Check() error {
	if _, _, err := net.SplitHostPort(c.Address); err != nil {
		return fmt.Errorf("address: Invalid value: %q: want host:port, such as 192.0.2.1:161", c.Address)
	}
	switch {
	case c.Community == "" && c.User == "":
		return errors.New("credentials: Required value: give community (version 2c), or user, authenticationPassword and privacyPassword (version 3)")
	case c.Community != "" && c.User != "":
		return errors.New("credentials: give either community (version 2c) or user (version 3), and not both")
	case c.User == "":
		return nil
	}
	if _, known := authentications[c.Authentication]; !known {
		return fmt.Errorf("authentication: Unsupported value: %q: supported values: SHA, SHA256, SHA512", c.Authentication)
	}
	for name, password := range map[string]string{"authenticationPassword": c.AuthenticationPassword, "privacyPassword": c.PrivacyPassword} {
		if len(password) < minPassword {
			return fmt.Errorf("%s: Invalid value: it has %d characters: give at least %d", name, len(password), minPassword)
		}
	}
	return nil
}

// client returns a client of the library, which is not connected.
func (c *Config) client() *gosnmp.GoSNMP {
	g := &gosnmp.GoSNMP{
		Transport: "udp", Timeout: timeout, Retries: retries, MaxRepetitions: repetitions, MaxOids: gosnmp.MaxOids,
		Version: gosnmp.Version2c, Community: c.Community, Context: context.Background(),
	}
	// The library wants a target of the socket that it opens, which is not used.
	g.Target, g.Port = "127.0.0.1", 161
	if c.User != "" {
		g.Version, g.Community = gosnmp.Version3, ""
		g.SecurityModel, g.MsgFlags = gosnmp.UserSecurityModel, gosnmp.AuthPriv
		g.SecurityParameters = &gosnmp.UsmSecurityParameters{
			UserName:               c.User,
			AuthenticationProtocol: authentications[c.Authentication], AuthenticationPassphrase: c.AuthenticationPassword,
			PrivacyProtocol: gosnmp.AES, PrivacyPassphrase: c.PrivacyPassword,
		}
	}
	return g
}
