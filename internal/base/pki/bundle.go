package pki

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// Names of the files in a directory, and of the keys in a Secret.
const (
	CAFile   = "ca.crt"
	CertFile = "tls.crt"
	KeyFile  = "tls.key"
)

// DirDefault is the directory of the bundle in pods.
const DirDefault = "/etc/nodrop/tls"

// Bundle contains the credentials of one component in PEM: the authority of its peers, its own
// certificate, and its key.
type Bundle struct {
	// CA, Cert and Key in PEM.
	CA, Cert, Key []byte
}

// Data returns the bundle as the data of a Secret.
func (b Bundle) Data() map[string][]byte {
	return map[string][]byte{CAFile: b.CA, CertFile: b.Cert, KeyFile: b.Key}
}

// FromData reads a bundle from the data of a Secret.
func FromData(data map[string][]byte) (Bundle, error) {
	for _, key := range []string{CAFile, CertFile, KeyFile} {
		if len(data[key]) == 0 {
			return Bundle{}, fmt.Errorf("reading certificates: %s is missing", key)
		}
	}
	return Bundle{CA: data[CAFile], Cert: data[CertFile], Key: data[KeyFile]}, nil
}

// LoadDir reads a bundle from the files of a directory.
func LoadDir(dir string) (Bundle, error) {
	data := map[string][]byte{}
	for _, name := range []string{CAFile, CertFile, KeyFile} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return Bundle{}, fmt.Errorf("reading certificates: %w", err)
		}
		data[name] = content
	}
	return FromData(data)
}

// Check returns an error if the bundle is not valid.
func (b Bundle) Check() error {
	_, _, err := b.parse()
	return err
}

// ValidUntil returns the time at which the certificate expires; the zero time if the bundle is not valid.
func (b Bundle) ValidUntil() time.Time {
	_, cert, err := b.parse()
	if err != nil {
		return time.Time{}
	}
	return cert.Leaf.NotAfter
}

// ServerConfig is for a server that answers only the client with this name.
func (b Bundle) ServerConfig(clientName string) (*tls.Config, error) {
	pool, cert, err := b.parse()
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{cert},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    pool,
		// A resumed session would outlive the certificate that it was made with.
		SessionTicketsDisabled: true,
		VerifyConnection:       pin("client", clientName),
	}, nil
}

// ClientConfig is for a client that accepts only the server with this name, at any
// address.
func (b Bundle) ClientConfig(serverName string) (*tls.Config, error) {
	pool, cert, err := b.parse()
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:       tls.VersionTLS13,
		Certificates:     []tls.Certificate{cert},
		RootCAs:          pool,
		ServerName:       serverName,
		VerifyConnection: pin("server", serverName),
	}, nil
}

// HTTPClient returns a client of the server in a pod that has this name. It follows no redirects.
func (b Bundle) HTTPClient(serverName string) (*http.Client, error) {
	t, err := b.ClientConfig(serverName)
	if err != nil {
		return nil, err
	}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			// Pods are reached directly, whatever the environment says of proxies.
			DialContext:     (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			TLSClientConfig: t, TLSHandshakeTimeout: 5 * time.Second, IdleConnTimeout: time.Minute,
		},
	}, nil
}

func (b Bundle) parse() (*x509.CertPool, tls.Certificate, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(b.CA) {
		return nil, tls.Certificate{}, errors.New("the authority's certificate is not PEM")
	}
	cert, err := tls.X509KeyPair(b.Cert, b.Key)
	if err != nil {
		return nil, tls.Certificate{}, fmt.Errorf("reading certificate and key: %w", err)
	}
	return pool, cert, nil
}

// pin runs after the chain was verified.
func pin(role, name string) func(tls.ConnectionState) error {
	return func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) == 0 {
			return fmt.Errorf("the %s presented no certificate: only %s is answered", role, name)
		}
		if leaf := s.PeerCertificates[0]; leaf.VerifyHostname(name) != nil {
			return fmt.Errorf("the %s is %q, but only %s is trusted", role, leaf.Subject.CommonName, name)
		}
		return nil
	}
}
