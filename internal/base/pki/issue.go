package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"
)

const (
	// MarginDays is the number of days for which certificates stay valid after the deadline: downtime of
	// the operator does not count for the deadline, and it still fetches the result afterwards.
	MarginDays = 7
	margin     = MarginDays * 24 * time.Hour
	// skew is the maximum time by which the clock of a node may be behind the operator's.
	skew = 10 * time.Minute
)

// OperatorName is the name in the certificate with which the operator reads the state
// of a runner.
func OperatorName(uid string) string { return "operator." + uid + ".nodrop" }

// RunnerName is the name in the certificate of a runner.
func RunnerName(uid string) string { return "runner." + uid + ".nodrop" }

// AgentName is the name in the certificate of the n-th agent.
func AgentName(uid string, n int) string { return fmt.Sprintf("agent-%d.%s.nodrop", n, uid) }

// Set contains the bundles that the components of one benchmark use to authenticate each
// other.
type Set struct {
	// Operator calls the runner.
	Operator Bundle
	// Runner answers the operator and drives the agents.
	Runner Bundle
	// Agents answer the runner; the n-th has AgentName(uid, n).
	Agents []Bundle
}

// Issue makes an authority and the certificates of the benchmark with this UID
// and number of agents. They are valid from shortly before now until MarginDays after
// the deadline. The authority's key is discarded: a second call makes another
// authority, whose certificates do not match those of the first.
func Issue(uid string, agents int, now, deadline time.Time) (Set, error) {
	if !deadline.After(now) {
		return Set{}, fmt.Errorf("issuing certificates for benchmark %s: its deadline %s has passed", uid, deadline.Format(time.RFC3339))
	}
	ca, err := newAuthority("nodrop benchmark "+uid, now.Add(-skew), deadline.Add(margin))
	if err != nil {
		return Set{}, fmt.Errorf("making the authority of benchmark %s: %w", uid, err)
	}
	var s Set
	issue := func(b *Bundle, name string, usage ...x509.ExtKeyUsage) {
		if err == nil {
			*b, err = ca.leaf([]string{name}, usage)
		}
	}
	issue(&s.Operator, OperatorName(uid), x509.ExtKeyUsageClientAuth)
	issue(&s.Runner, RunnerName(uid), x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth)
	s.Agents = make([]Bundle, agents)
	for n := range s.Agents {
		issue(&s.Agents[n], AgentName(uid, n), x509.ExtKeyUsageServerAuth)
	}
	if err != nil {
		return Set{}, fmt.Errorf("issuing certificates for benchmark %s: %w", uid, err)
	}
	return s, nil
}

// IssueServer makes an authority and one certificate of it for a server with these
// DNS names, both valid from 10 minutes before now until the given time. The
// authority's key is discarded, as by Issue.
func IssueServer(names []string, now, until time.Time) (Bundle, error) {
	if len(names) == 0 || !until.After(now) {
		return Bundle{}, fmt.Errorf("issuing a server certificate for %q until %s: a name and a later time are needed", names, until.Format(time.RFC3339))
	}
	ca, err := newAuthority("nodrop server "+names[0], now.Add(-skew), until)
	if err != nil {
		return Bundle{}, fmt.Errorf("making the authority of %s: %w", names[0], err)
	}
	b, err := ca.leaf(names, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth})
	if err != nil {
		return Bundle{}, fmt.Errorf("issuing a certificate for %s: %w", names[0], err)
	}
	return b, nil
}

type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(name string, from, to time.Time) (*authority, error) {
	template, err := newTemplate(name, from, to)
	if err != nil {
		return nil, err
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.MaxPathLenZero = true
	template.KeyUsage = x509.KeyUsageCertSign
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{cert: cert, key: key, pem: encode("CERTIFICATE", der)}, nil
}

func (a *authority) leaf(names []string, usage []x509.ExtKeyUsage) (Bundle, error) {
	template, err := newTemplate(names[0], a.cert.NotBefore, a.cert.NotAfter)
	if err != nil {
		return Bundle{}, err
	}
	template.DNSNames = names
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = usage
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Bundle{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return Bundle{}, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Bundle{}, err
	}
	return Bundle{CA: a.pem, Cert: encode("CERTIFICATE", der), Key: encode("PRIVATE KEY", private)}, nil
}

func newTemplate(name string, from, to time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    from,
		NotAfter:     to,
	}, nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
