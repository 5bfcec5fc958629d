package gnmiaccess_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/dut/configure"
	"nodrop.dev/nodrop/internal/dut/configure/gnmiaccess"
	"nodrop.dev/nodrop/internal/testkit/gnmitarget"
)

// settings returns what reaches a device.
func settings(t *testing.T) gnmiaccess.Config {
	t.Helper()
	set, err := pki.Issue("device", 1, time.Now(), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return gnmiaccess.Config{
		Address: "192.0.2.1:9339", User: "lab", Password: "hunter2", Certificates: set.Runner.CA, ClientCertificate: set.Runner.Cert, PrivateKey: set.Runner.Key,
	}
}

// TestCheck names the setting that cannot work, without its value.
func TestCheck(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*gnmiaccess.Config)
		want   string
	}{
		"all":                 {func(*gnmiaccess.Config) {}, ""},
		"only a user":         {func(c *gnmiaccess.Config) { c.ClientCertificate, c.PrivateKey = nil, nil }, ""},
		"only a certificate":  {func(c *gnmiaccess.Config) { c.User, c.Password = "", "" }, ""},
		"no port":             {func(c *gnmiaccess.Config) { c.Address = "192.0.2.1" }, "want host:port"},
		"no certificates":     {func(c *gnmiaccess.Config) { c.Certificates = nil }, "certificates: Required value"},
		"no PEM":              {func(c *gnmiaccess.Config) { c.Certificates = []byte("hunter2") }, "certificates: it has no block of PEM"},
		"a key":               {func(c *gnmiaccess.Config) { c.Certificates = c.PrivateKey }, `it has a block of type "PRIVATE KEY"`},
		"no password":         {func(c *gnmiaccess.Config) { c.Password = "" }, "user and password: give both"},
		"no key":              {func(c *gnmiaccess.Config) { c.PrivateKey = nil }, "clientCertificate and privateKey: give both"},
		"another key":         {func(c *gnmiaccess.Config) { c.PrivateKey = c.ClientCertificate }, "want a certificate and its private key"},
		"nothing but the CAs": {func(c *gnmiaccess.Config) { *c = gnmiaccess.Config{Address: c.Address, Certificates: c.Certificates} }, "credentials: Required value"},
	} {
		c := settings(t)
		test.change(&c)
		err := c.Check()
		if (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// TestCertificates connects to gnxi's target by its own certificate, by that of its authority and by none of these.
func TestCertificates(t *testing.T) {
	t.Parallel()
	g := gnmitarget.Start(t, "{}")
	other := settings(t)
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, g.Address)
	}
	for name, test := range map[string]struct {
		change func(*gnmiaccess.Config)
		want   string
	}{
		"its own":                     {func(*gnmiaccess.Config) {}, ""},
		"its authority":               {func(c *gnmiaccess.Config) { c.Certificates, c.Address, c.Dial = g.Authority(), g.Named(), dial }, ""},
		"its authority, another host": {func(c *gnmiaccess.Config) { c.Certificates = g.Authority() }, "127.0.0.1"},
		"another one":                 {func(c *gnmiaccess.Config) { c.Certificates = other.Certificates }, "not signed by one of them"},
		"another one of the client": {func(c *gnmiaccess.Config) {
			c.ClientCertificate, c.PrivateKey = other.ClientCertificate, other.PrivateKey
		}, "it may want another certificate of the client"},
		"none of the client":             {func(c *gnmiaccess.Config) { c.ClientCertificate, c.PrivateKey = nil, nil }, "it may want another certificate of the client"},
		"another authority of both":      {func(c *gnmiaccess.Config) { *c = other; c.Address = g.Address }, "not signed by one of them"},
		"several, of which one is right": {func(c *gnmiaccess.Config) { c.Certificates = append(other.Certificates, c.Certificates...) }, ""},
	} {
		c, err := gnmiaccess.ReadConfig(configure.Reach{Address: g.Address, Key: g.Key})
		if err != nil {
			t.Fatal(err)
		}
		test.change(&c)
		client, err := c.Connect(t.Context())
		if err == nil {
			client.Close()
		}
		if (err == nil) != (test.want == "") || err != nil && (!errors.Is(err, configure.ErrRefused) || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
