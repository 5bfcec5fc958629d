package webhookcert

import (
	"bytes"
	"crypto/x509"
	"maps"
	"slices"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/base/pki"
)

var names = []string{"nodrop-webhook.nodrop-system.svc"}

func yes(*x509.Certificate) bool { return true }
func no(*x509.Certificate) bool  { return false }

// step advances certificates through the data of a Secret, as replicas do.
func step(t *testing.T, c certificates, now time.Time, trusted func(*x509.Certificate) bool) (certificates, bool) {
	t.Helper()
	c, changed, err := read(c.data()).advance(now, names, trusted)
	if err != nil {
		t.Fatal(err)
	}
	again, more, err := read(c.data()).advance(now, names, no)
	if err != nil || more || !maps.EqualFunc(again.data(), c.data(), bytes.Equal) {
		t.Errorf("a second check at the same time changes the certificates again (%v)", err)
	}
	return c, changed
}

// serves checks what an API server checks: the certificate that is served has a name
// and an authority that it trusts, now.
func serves(t *testing.T, c certificates, bundle []byte, now time.Time) {
	t.Helper()
	cert, err := c.current.serve()
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	if _, err := cert.Leaf.Verify(x509.VerifyOptions{DNSName: names[0], Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}); err != nil {
		t.Errorf("at %s the certificate is not trusted: %v", now.Format(time.RFC3339), err)
	}
}

// TestRenewal follows two years, six hours at a time. The webhook configuration has what
// the step before has written: the served certificate is always trusted by it, and by
// the one before.
func TestRenewal(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	c, changed := step(t, certificates{}, now, no)
	if !changed || c.next.cert != nil || len(c.authorities) != 1 {
		t.Fatalf("the first certificate: changed %t, %d authorities", changed, len(c.authorities))
	}
	bundle := c.bundle()
	changes, served := 0, 1
	for end := now.AddDate(2, 0, 0); now.Before(end); now = now.Add(6 * time.Hour) {
		before := c
		c, changed = step(t, c, now, func(a *x509.Certificate) bool { return bytes.Contains(bundle, pemOf(a)) })
		// A replica that has not read the Secret yet serves the one before.
		serves(t, before, c.bundle(), now)
		// An API server that has not seen the configuration yet.
		serves(t, c, bundle, now)
		serves(t, c, c.bundle(), now)
		if changed {
			changes++
		}
		if !bytes.Equal(before.current.cert, c.current.cert) {
			served++
		}
		if len(c.authorities) > 2 {
			t.Fatalf("%d authorities are trusted, want at most 2", len(c.authorities))
		}
		bundle = c.bundle()
	}
	// A certificate is served for 60 days: the thirteenth began in the second year.
	if served != 13 || changes > 3*served {
		t.Errorf("%d certificates in 2 years with %d changes, want 13 and three changes each", served, changes)
	}
}

func pemOf(a *x509.Certificate) []byte {
	return certificates{authorities: []*x509.Certificate{a}}.bundle()
}

// TestNextCertificateWaits: it is served neither before every webhook trusts it nor
// before the overlap has passed.
func TestNextCertificateWaits(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	first, _ := step(t, certificates{}, now, no)
	if _, changed := step(t, first, now.Add(lifetime-renewBefore-time.Second), yes); changed {
		t.Error("the certificate is renewed before it is due")
	}
	now = now.Add(lifetime - renewBefore)
	waiting, changed := step(t, first, now, yes)
	if !changed || waiting.next.cert == nil || !bytes.Equal(waiting.current.cert, first.current.cert) || len(waiting.authorities) != 2 {
		t.Fatalf("when the certificate is due: changed %t, %d authorities", changed, len(waiting.authorities))
	}
	for name, tc := range map[string]struct {
		after   time.Duration
		trusted func(*x509.Certificate) bool
		served  bool
	}{
		"not trusted":         {24 * time.Hour, no, false},
		"too early":           {overlap - time.Second, yes, false},
		"trusted and in time": {overlap, yes, true},
	} {
		c, _ := step(t, waiting, now.Add(tc.after), tc.trusted)
		if got := bytes.Equal(c.current.cert, waiting.next.cert); got != tc.served {
			t.Errorf("%s: the next certificate is served: %t, want %t", name, got, tc.served)
		}
	}
	// Nothing but the next one can be served any more.
	if c, _ := step(t, waiting, now.Add(renewBefore), no); !bytes.Equal(c.current.cert, waiting.next.cert) {
		t.Error("the next certificate is not served when the one before it has expired")
	}
}

// TestUnusableSecret: whatever the Secret has, a certificate is served.
func TestUnusableSecret(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	good, _ := step(t, certificates{}, now, no)
	other, _ := step(t, certificates{}, now, no)
	foreign, err := pki.IssueServer([]string{"nodrop-webhook.elsewhere.svc"}, now, now.Add(lifetime))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]map[string][]byte{
		"empty":            nil,
		"no key":           {keyCert: good.current.cert, keyAuthorities: good.bundle()},
		"another's key":    {keyCert: good.current.cert, keyPrivate: other.current.key, keyAuthorities: good.bundle()},
		"no authority":     {keyCert: good.current.cert, keyPrivate: good.current.key},
		"other authority":  {keyCert: good.current.cert, keyPrivate: good.current.key, keyAuthorities: other.bundle()},
		"another's name":   {keyCert: foreign.Cert, keyPrivate: foreign.Key, keyAuthorities: foreign.CA},
		"text":             {keyCert: []byte("x"), keyPrivate: []byte("x"), keyAuthorities: []byte("x"), keyNextCert: []byte("x")},
		"an expired one":   expired(t),
		"a next of others": {keyCert: good.current.cert, keyPrivate: good.current.key, keyAuthorities: good.bundle(), keyNextCert: other.current.cert, keyNextPrivate: other.current.key},
	} {
		t.Run(name, func(t *testing.T) {
			c, changed, err := read(data).advance(now, names, no)
			if err != nil || !changed {
				t.Fatalf("changed %t: %v", changed, err)
			}
			serves(t, c, c.bundle(), now)
			if c.next.cert != nil {
				t.Error("a next certificate that cannot be served is kept")
			}
		})
	}
}

func expired(t *testing.T) map[string][]byte {
	t.Helper()
	c, _ := step(t, certificates{}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), no)
	return c.data()
}

// TestAuthorityKeysAreDiscarded: the Secret has the keys of certificates only.
func TestAuthorityKeysAreDiscarded(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	c, _ := step(t, certificates{}, now, no)
	c, _ = step(t, c, now.Add(lifetime-renewBefore), no)
	keys := slices.Sorted(maps.Keys(c.data()))
	if want := []string{keyAuthorities, keyNextCert, keyNextPrivate, keyCert, keyPrivate}; !slices.Equal(keys, want) {
		t.Errorf("keys %q, want %q", keys, want)
	}
	for _, p := range []pair{c.current, c.next} {
		cert, err := p.serve()
		if err != nil {
			t.Fatal(err)
		}
		if cert.Leaf.IsCA || len(cert.Certificate) != 1 {
			t.Error("a private key is that of an authority")
		}
	}
}
