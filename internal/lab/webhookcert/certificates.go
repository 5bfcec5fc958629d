package webhookcert

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	"nodrop.dev/nodrop/internal/base/pki"
)

const (
	// lifetime of a certificate and its authority.
	lifetime = 90 * 24 * time.Hour
	// renewBefore is the time before its expiry at which a certificate is replaced. An
	// operator may be down for as long without a gap.
	renewBefore = 30 * 24 * time.Hour
	// overlap is the time for which the webhook configuration has trusted the next certificate
	// before it is served. API servers see a changed configuration within seconds.
	overlap = 10 * time.Minute
)

// Keys of the Secret.
const (
	// keyCert and keyPrivate are served.
	keyCert    = pki.CertFile
	keyPrivate = pki.KeyFile
	// keyNextCert and keyNextPrivate are served next, once the API server trusts them.
	keyNextCert    = "next.crt"
	keyNextPrivate = "next.key"
	// keyAuthorities holds every authority that is trusted, the newest last.
	keyAuthorities = pki.CAFile
)

// pair is a certificate with its key; the zero value is none.
type pair struct{ cert, key []byte }

// certificates is the content of the Secret.
type certificates struct {
	current, next pair
	authorities   []*x509.Certificate
}

// read takes certificates from the data of a Secret. What is not PEM counts as
// absent and is replaced.
func read(data map[string][]byte) certificates {
	c := certificates{
		current: pair{data[keyCert], data[keyPrivate]},
		next:    pair{data[keyNextCert], data[keyNextPrivate]},
	}
	for rest := data[keyAuthorities]; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return c
		}
		if authority, err := x509.ParseCertificate(block.Bytes); err == nil {
			c.authorities = append(c.authorities, authority)
		}
	}
}

// data is the inverse of read.
func (c certificates) data() map[string][]byte {
	data := map[string][]byte{keyCert: c.current.cert, keyPrivate: c.current.key, keyAuthorities: c.bundle()}
	if c.next.cert != nil {
		data[keyNextCert], data[keyNextPrivate] = c.next.cert, c.next.key
	}
	return data
}

// bundle is every trusted authority in PEM, for the webhook configuration.
func (c certificates) bundle() []byte {
	var all bytes.Buffer
	for _, a := range c.authorities {
		// Writing to a buffer does not fail.
		_ = pem.Encode(&all, &pem.Block{Type: "CERTIFICATE", Bytes: a.Raw})
	}
	return all.Bytes()
}

// advance returns the certificates as they should be now for a server with these
// names, and whether they changed. Trusted says whether the webhook configuration has
// an authority.
func (c certificates) advance(now time.Time, names []string, trusted func(*x509.Certificate) bool) (certificates, bool, error) {
	changed := false
	valid := slices.DeleteFunc(slices.Clone(c.authorities), func(a *x509.Certificate) bool { return !now.Before(a.NotAfter) })
	if len(valid) != len(c.authorities) {
		c.authorities, changed = valid, true
	}
	next, nextAuthority := c.usable(c.next, now, names)
	if next == nil && c.next.cert != nil {
		c.next, changed = pair{}, true
	}
	current, _ := c.usable(c.current, now, names)
	switch {
	case current == nil && next != nil:
		// Nothing else can be served: serve it at once.
		c.current, c.next = c.next, pair{}
		return c, true, nil
	case current == nil:
		issued, err := c.issue(now, names)
		if err != nil {
			return c, false, err
		}
		c.current = issued
		return c, true, nil
	case next == nil && !now.Before(current.NotAfter.Add(-renewBefore)):
		issued, err := c.issue(now, names)
		if err != nil {
			return c, false, err
		}
		c.next = issued
		return c, true, nil
	case next != nil && trusted(nextAuthority) && !now.Before(next.NotAfter.Add(overlap-lifetime)):
		c.current, c.next = c.next, pair{}
		return c, true, nil
	}
	return c, changed, nil
}

// issue makes a certificate and adds its authority to the trusted ones.
func (c *certificates) issue(now time.Time, names []string) (pair, error) {
	b, err := pki.IssueServer(names, now, now.Add(lifetime))
	if err != nil {
		return pair{}, fmt.Errorf("making a certificate for the webhooks: %w", err)
	}
	block, _ := pem.Decode(b.CA)
	authority, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return pair{}, fmt.Errorf("reading the authority of the webhooks' certificate: %w", err)
	}
	c.authorities = append(slices.Clone(c.authorities), authority)
	return pair{b.Cert, b.Key}, nil
}

// usable returns the certificate of a pair and its authority; nil when it cannot be
// served: the key is another's, it is expired, it lacks a name, or its authority is
// not among the trusted ones.
func (c certificates) usable(p pair, now time.Time, names []string) (cert, authority *x509.Certificate) {
	served, err := p.serve()
	if err != nil || !now.Before(served.Leaf.NotAfter) {
		return nil, nil
	}
	for _, name := range names {
		if served.Leaf.VerifyHostname(name) != nil {
			return nil, nil
		}
	}
	i := slices.IndexFunc(c.authorities, func(a *x509.Certificate) bool { return served.Leaf.CheckSignatureFrom(a) == nil })
	if i < 0 {
		return nil, nil
	}
	return served.Leaf, c.authorities[i]
}

// serve returns the pair as a TLS server uses it.
func (p pair) serve() (*tls.Certificate, error) {
	if len(p.cert) == 0 {
		return nil, errors.New("there is no certificate")
	}
	cert, err := tls.X509KeyPair(p.cert, p.key)
	if err != nil {
		return nil, fmt.Errorf("reading certificate and key: %w", err)
	}
	return &cert, nil
}
