package pki

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"
)

// RecorderName is the name in the certificate of the recorder of a lab.
const RecorderName = "recorder.nodrop"

// RecordingName is the name in the certificate with which the operator hands the rows of
// finished results to the recorder.
const RecordingName = "operator.nodrop"

// RunnerUID is the UID in the name of a runner, as RunnerName makes it; false of any other
// name.
func RunnerUID(name string) (uid string, is bool) {
	rest, begins := strings.CutPrefix(name, "runner.")
	uid, ends := strings.CutSuffix(rest, ".nodrop")
	return uid, begins && ends && uid != ""
}

// Authority issues certificates as long as it is valid: for the recorder, which serves
// runs that come one after the other. Unlike the authorities of runs its key is kept.
type Authority struct {
	// Cert and Key in PEM.
	Cert, Key []byte
}

// NewAuthority makes an authority for the recorder of a lab, valid from 10 minutes before
// now.
func NewAuthority(now, until time.Time) (Authority, error) {
	a, err := newAuthority("nodrop recorder", now.Add(-skew), until)
	if err != nil {
		return Authority{}, fmt.Errorf("making the authority of the recorder: %w", err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(a.key)
	if err != nil {
		return Authority{}, fmt.Errorf("making the authority of the recorder: %w", err)
	}
	return Authority{Cert: a.pem, Key: encode("PRIVATE KEY", private)}, nil
}

// Recorder issues the certificate of the recorder, valid until the authority is not.
func (a Authority) Recorder() (Bundle, error) {
	return a.issue(RecorderName, time.Time{}, x509.ExtKeyUsageServerAuth)
}

// Runner issues the certificate with which the runner of a run calls the recorder.
func (a Authority) Runner(uid string, until time.Time) (Bundle, error) {
	return a.issue(RunnerName(uid), until.Add(margin), x509.ExtKeyUsageClientAuth)
}

// Recording issues the certificate with which the operator calls the recorder.
func (a Authority) Recording(until time.Time) (Bundle, error) {
	return a.issue(RecordingName, until, x509.ExtKeyUsageClientAuth)
}

func (a Authority) issue(name string, until time.Time, usage x509.ExtKeyUsage) (Bundle, error) {
	signer, err := a.parse()
	if err != nil {
		return Bundle{}, fmt.Errorf("issuing a certificate for %s: %w", name, err)
	}
	if !until.IsZero() && until.Before(signer.cert.NotAfter) {
		signer.cert.NotAfter = until // of what it issues
	}
	b, err := signer.leaf([]string{name}, []x509.ExtKeyUsage{usage})
	if err != nil {
		return Bundle{}, fmt.Errorf("issuing a certificate for %s: %w", name, err)
	}
	return b, nil
}

// Valid returns the time until which the authority issues certificates; the zero time when it
// cannot be read.
func (a Authority) Valid() time.Time {
	signer, err := a.parse()
	if err != nil {
		return time.Time{}
	}
	return signer.cert.NotAfter
}

func (a Authority) parse() (*authority, error) {
	pair, err := tls.X509KeyPair(a.Cert, a.Key)
	if err != nil {
		return nil, fmt.Errorf("reading the authority: %w", err)
	}
	key, is := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !is {
		return nil, errors.New("reading the authority: its key is none of ECDSA")
	}
	block, _ := pem.Decode(a.Cert)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("reading the authority: %w", err)
	}
	return &authority{cert: cert, key: key, pem: a.Cert}, nil
}

// RecorderConfig is for the recorder. Load reads its bundle, for each connection, so that
// a certificate that was replaced is used without a restart.
func RecorderConfig(load func() (Bundle, error)) (*tls.Config, error) {
	if _, err := load(); err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		b, err := load()
		if err != nil {
			return nil, err
		}
		pool, cert, err := b.parse()
		if err != nil {
			return nil, err
		}
		return &tls.Config{
			MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"},
			ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
			SessionTicketsDisabled: true, VerifyConnection: onlyCallers,
		}, nil
	}}, nil
}

// ServerOnlyConfig is for what a server answers to everybody, with its certificate: numbers
// that are no secret. Load reads its bundle, for each connection.
func ServerOnlyConfig(load func() (Bundle, error)) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		b, err := load()
		if err != nil {
			return nil, err
		}
		_, cert, err := b.parse()
		return &cert, err
	}}
}

// onlyCallers runs after the chain was verified.
func onlyCallers(s tls.ConnectionState) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("the client presented no certificate: only runners and the operator are answered")
	}
	name := s.PeerCertificates[0].Subject.CommonName
	_, runs := RunnerUID(name)
	if !runs && name != RecordingName || s.PeerCertificates[0].VerifyHostname(name) != nil {
		return fmt.Errorf("the client is %q, but only runners and the operator are answered", name)
	}
	return nil
}
