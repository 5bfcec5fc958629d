package gnmiaccess

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"time"

	"nodrop.dev/nodrop/internal/dut/configure"
)

// Config contains what it takes to reach a device.
type Config struct {
	// Address is host:port.
	Address string
	// User and Password go with each request; both are empty where a certificate of the client is enough.
	User, Password string
	// Certificates are in PEM: the one of the device itself, or the one of the authority that signed it.
	Certificates []byte
	// ClientCertificate and PrivateKey are in PEM; both are empty for a device that asks for none.
	ClientCertificate, PrivateKey []byte
	// Dial connects to the device; nil connects from the network of this process.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Timeout bounds the connection, and the answer to each request; 0 is configure.DefaultTimeout.
	Timeout time.Duration
}

// Keys of a Secret of type nodrop.dev/device.
const (
	keyUser              = "user"
	keyPassword          = "password"
	keyCertificates      = "certificates"
	keyClientCertificate = "clientCertificate"
	keyPrivateKey        = "privateKey"
)

// Keys names the keys of the Secret of a device that is reached by gNMI.
const Keys = "certificates, and user and password, or clientCertificate and privateKey"

// ReadConfig returns the settings by which a device is reached. It fails for keys that are missing or no certificates, with their
// names.
func ReadConfig(r configure.Reach) (Config, error) {
	c := Config{Address: r.Address, Dial: r.Dial, Timeout: r.Timeout}
	data, err := configure.ReadAccess(r.Key, keyUser, keyPassword, keyCertificates, keyClientCertificate, keyPrivateKey)
	if err != nil {
		return c, err
	}
	c.User, c.Password = data.Line(keyUser), data.Line(keyPassword)
	c.Certificates, c.ClientCertificate, c.PrivateKey = data[keyCertificates], data[keyClientCertificate], data[keyPrivateKey]
	return c, c.Check()
}

// Check fails for settings that cannot connect, with the name of the field. It does not connect.
func (c *Config) Check() error {
	_, err := c.tls()
	return err
}

// AnswerWithin returns how long the device may take to answer.
func (c *Config) AnswerWithin() time.Duration {
	return cmp.Or(max(c.Timeout, 0), configure.DefaultTimeout)
}

// CertificateError reports that a device has a certificate that it may not have.
type CertificateError struct {
	Address string
	// Got is the SHA-256 fingerprint of the device's certificate.
	Got string
	Err error
}

func (e *CertificateError) Error() string {
	return fmt.Sprintf("the device at %s has the certificate SHA256:%s, which is not among certificates and not signed by one of them (%v): if it was changed on purpose, replace it there",
		e.Address, e.Got, e.Err)
}

func (e *CertificateError) Unwrap() error { return e.Err }

// tls returns the settings of TLS. It refuses what cannot connect.
func (c *Config) tls() (*tls.Config, error) {
	host, _, err := net.SplitHostPort(c.Address)
	if err != nil {
		return nil, fmt.Errorf("address: Invalid value: %q: want host:port, such as 192.0.2.1:9339", c.Address)
	}
	known, err := read(c.Certificates)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w: want certificates in PEM", keyCertificates, err)
	case len(known) == 0:
		return nil, errors.New(keyCertificates + ": Required value: give the certificate of the device, or of the authority that signed it, in PEM, such as openssl s_client -showcerts prints it; compare it with the one that the device shows at its console")
	case (c.User == "") != (c.Password == ""):
		return nil, fmt.Errorf("%s and %s: give both or none", keyUser, keyPassword)
	case (len(c.ClientCertificate) == 0) != (len(c.PrivateKey) == 0):
		return nil, fmt.Errorf("%s and %s: give both or none", keyClientCertificate, keyPrivateKey)
	case c.User == "" && len(c.ClientCertificate) == 0:
		return nil, fmt.Errorf("credentials: Required value: give %s and %s, or %s and %s", keyUser, keyPassword, keyClientCertificate, keyPrivateKey)
	}
	settings := &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}, ServerName: host,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection checks the certificate: it may be the device's own, with any name in it.
		VerifyConnection:   func(s tls.ConnectionState) error { return c.accept(host, known, s.PeerCertificates) },
	}
	if len(c.ClientCertificate) > 0 {
		own, err := tls.X509KeyPair(c.ClientCertificate, c.PrivateKey)
		if err != nil {
			return nil, fmt.Errorf("%s and %s: want a certificate and its private key in PEM, without a passphrase", keyClientCertificate, keyPrivateKey)
		}
		settings.Certificates = []tls.Certificate{own}
	}
	return settings, nil
}

// read returns the certificates of a text.
func read(text []byte) (out []*x509.Certificate, _ error) {
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			if len(bytes.TrimSpace(text)) > 0 && len(out) == 0 {
				return nil, errors.New("it has no block of PEM")
			}
			return out, nil
		}
		text = rest
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("it has a block of type %q", block.Type)
		}
		one, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
}

// accept fails with a CertificateError unless a device has one of the known certificates, or one that they signed for its host.
func (c *Config) accept(host string, known, shown []*x509.Certificate) error {
	if len(shown) == 0 {
		return &CertificateError{Address: c.Address, Err: errors.New("it shows none")}
	}
	for _, k := range known {
		if k.Equal(shown[0]) {
			return nil
		}
	}
	o := x509.VerifyOptions{DNSName: host, Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool()}
	for _, k := range known {
		o.Roots.AddCert(k)
	}
	for _, s := range shown[1:] {
		o.Intermediates.AddCert(s)
	}
	if _, err := shown[0].Verify(o); err != nil {
		sum := sha256.Sum256(shown[0].Raw)
		return &CertificateError{c.Address, hex.EncodeToString(sum[:]), err}
	}
	return nil
}
