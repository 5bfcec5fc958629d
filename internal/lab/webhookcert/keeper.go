package webhookcert

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// defaultInterval between checks of Secret and webhook configuration.
	defaultInterval = time.Minute
	// retryInterval is the same after an error.
	retryInterval = 2 * time.Second
	// attempts at a change that another replica makes at the same time.
	attempts = 5
)

// Options configure a Keeper.
type Options struct {
	// Secret that holds the certificates. It must exist, and may be empty: the right to
	// create Secrets cannot be limited to one name.
	Secret types.NamespacedName
	// Configuration is the name of the ValidatingWebhookConfiguration.
	Configuration string
	// Names are the DNS names that the API server calls the webhooks by.
	Names []string
	// Reader reads from the API server, not from a cache: the operator may not list
	// Secrets of its namespace. Writer writes there.
	Reader client.Reader
	Writer client.Writer
	// Now is the clock.
	Now func() time.Time
	// Interval between two checks of Secret and webhook configuration; 0 is a minute.
	Interval time.Duration
}

// Keeper keeps the certificates of one operator; several replicas may keep the same.
// It is a Runnable of a manager.
type Keeper struct {
	Options
	serving atomic.Pointer[tls.Certificate]
	// trusted is set once the webhook configuration has what is served.
	trusted atomic.Bool
}

// New returns a Keeper that serves nothing before Start.
func New(o Options) *Keeper { return &Keeper{Options: o} }

// NeedLeaderElection is false: every replica serves webhooks.
func (k *Keeper) NeedLeaderElection() bool { return false }

// GetCertificate is for tls.Config.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if cert := k.serving.Load(); cert != nil {
		return cert, nil
	}
	return nil, errors.New("the certificate of the webhooks is not made yet")
}

// Ready fails until the API server can call the webhooks.
func (k *Keeper) Ready(*http.Request) error {
	if !k.trusted.Load() {
		return fmt.Errorf("webhook configuration %s does not trust this operator yet", k.Configuration)
	}
	return nil
}

// Start keeps the certificates until the context ends. Errors are logged and tried
// again: the served certificate is valid for weeks.
func (k *Keeper) Start(ctx context.Context) error {
	logger := log.FromContext(ctx).WithName("webhook-certificate")
	for {
		next := cmp.Or(k.Interval, defaultInterval)
		if err := k.Keep(log.IntoContext(ctx, logger)); err != nil && ctx.Err() == nil {
			logger.Error(err, "Keeping the certificate of the webhooks failed", "secret", k.Secret.String())
			next = min(next, retryInterval)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(next):
		}
	}
}

// Keep does once what is due: it makes or renews the certificate, serves what the
// Secret has, and writes the authorities into the webhook configuration.
func (k *Keeper) Keep(ctx context.Context) error {
	var last error
	err := wait.ExponentialBackoffWithContext(ctx, wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: attempts}, func(ctx context.Context) (bool, error) {
		last = k.keep(ctx)
		if apierrors.IsConflict(last) {
			return false, nil
		}
		return true, last
	})
	if wait.Interrupted(err) && last != nil {
		return last
	}
	return err
}

// keep reads the configuration before the Secret: a stale Secret is then never written
// into the configuration, since a replica that has written the Secret meanwhile has
// changed the configuration too, and the patch conflicts.
func (k *Keeper) keep(ctx context.Context) error {
	configuration := &admissionv1.ValidatingWebhookConfiguration{}
	if err := k.Reader.Get(ctx, client.ObjectKey{Name: k.Configuration}, configuration); err != nil {
		return fmt.Errorf("reading webhook configuration %s: %w", k.Configuration, err)
	}
	secret := &corev1.Secret{}
	if err := k.Reader.Get(ctx, k.Secret, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return fmt.Errorf("reading the certificate: %w: install the chart or config/default again, which create it empty", err)
		}
		return fmt.Errorf("reading the certificate: %w", err)
	}
	trusted := func(a *x509.Certificate) bool { return trusts(configuration, a) }
	certificates, changed, err := read(secret.Data).advance(k.Now(), k.Names, trusted)
	if err != nil {
		return err
	}
	if changed {
		secret.Data = certificates.data()
		if err := k.Writer.Update(ctx, secret); err != nil {
			return fmt.Errorf("writing the certificate: %w", err)
		}
		log.FromContext(ctx).Info("The certificates of the webhooks changed", "authorities", len(certificates.authorities), "nextIsWaiting", certificates.next.cert != nil)
	}
	serving, err := certificates.current.serve()
	if err != nil {
		return err
	}
	if err := k.trust(ctx, configuration, certificates.bundle()); err != nil {
		return err
	}
	k.serving.Store(serving)
	k.trusted.Store(true)
	return nil
}

// trusts reports whether every webhook of a configuration trusts an authority.
func trusts(configuration *admissionv1.ValidatingWebhookConfiguration, authority *x509.Certificate) bool {
	for _, w := range configuration.Webhooks {
		has := false
		for _, a := range read(map[string][]byte{keyAuthorities: w.ClientConfig.CABundle}).authorities {
			has = has || a.Equal(authority)
		}
		if !has {
			return false
		}
	}
	return true
}

// trust puts the authorities into every webhook of the configuration. The patch holds
// these fields alone, so that tools that apply the rest do not own them.
func (k *Keeper) trust(ctx context.Context, configuration *admissionv1.ValidatingWebhookConfiguration, bundle []byte) error {
	type clientConfig struct {
		CABundle []byte `json:"caBundle"`
	}
	type webhook struct {
		Name         string       `json:"name"`
		ClientConfig clientConfig `json:"clientConfig"`
	}
	var patch struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Webhooks []webhook `json:"webhooks"`
	}
	for _, w := range configuration.Webhooks {
		if !bytes.Equal(w.ClientConfig.CABundle, bundle) {
			patch.Webhooks = append(patch.Webhooks, webhook{Name: w.Name, ClientConfig: clientConfig{bundle}})
		}
	}
	if len(patch.Webhooks) == 0 {
		return nil
	}
	patch.Metadata.ResourceVersion = configuration.ResourceVersion
	text, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("writing a patch of webhook configuration %s: %w", k.Configuration, err)
	}
	object := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: k.Configuration}}
	if err := k.Writer.Patch(ctx, object, client.RawPatch(types.StrategicMergePatchType, text), client.FieldOwner(FieldOwner)); err != nil {
		return fmt.Errorf("patching webhook configuration %s: %w", k.Configuration, err)
	}
	return nil
}

// FieldOwner owns caBundle in the webhook configuration.
const FieldOwner = "nodrop-operator"
