package operator

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"nodrop.dev/nodrop/internal/lab/webhookcert"
)

// metricsOptions serve the metrics with the certificate of the webhooks, to clients whose
// token the API server knows and lets get /metrics. Without webhooks the certificate is made
// at the start, and clients cannot verify it.
func metricsOptions(c Config, keeper *webhookcert.Keeper) server.Options {
	return server.Options{
		BindAddress: c.MetricsAddress, SecureServing: true,
		FilterProvider: filters.WithAuthenticationAndAuthorization,
		CertDir:        c.WebhookCertDir,
		TLSOpts: []func(*tls.Config){func(t *tls.Config) {
			t.MinVersion = tls.VersionTLS13
			if keeper != nil {
				t.GetCertificate = keeper.GetCertificate
			}
		}},
	}
}

// expiration returns a function that reads the expiration time of the webhook certificate; nil
// without webhooks.
func expiration(c Config, keeper *webhookcert.Keeper) func() (time.Time, error) {
	switch {
	case c.WebhookPort == 0:
		return nil
	case keeper != nil:
		return func() (time.Time, error) {
			cert, err := keeper.GetCertificate(nil)
			if err != nil {
				return time.Time{}, err
			}
			return cert.Leaf.NotAfter, nil
		}
	}
	return func() (time.Time, error) {
		text, err := os.ReadFile(filepath.Join(c.WebhookCertDir, "tls.crt"))
		if err != nil {
			return time.Time{}, fmt.Errorf("reading the certificate of the webhooks: %w", err)
		}
		block, _ := pem.Decode(text)
		if block == nil {
			return time.Time{}, fmt.Errorf("reading the certificate of the webhooks: tls.crt in %s is not PEM", c.WebhookCertDir)
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return time.Time{}, fmt.Errorf("reading the certificate of the webhooks: %w", err)
		}
		return cert.NotAfter, nil
	}
}
