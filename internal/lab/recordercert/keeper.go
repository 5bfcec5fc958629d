// Package recordercert keeps the certificates with which runners, the operator and the
// recorder of a lab know each other. The operator makes them, in one Secret: an authority
// with its key, and the recorder's certificate. The recorder's pod gets all but the key of
// the authority, and each run a certificate of its own.
package recordercert

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/measure/runner"
	"nodrop.dev/nodrop/internal/reporting/metrics/recorder"
)

const (
	// lifetime of the authority and of the recorder's certificate.
	lifetime = 10 * 365 * 24 * time.Hour
	// renewBefore is the time before their expiration at which both are replaced. Runs in
	// progress cannot reach the recorder after that.
	renewBefore = 365 * 24 * time.Hour
	// interval between checks, and retry after an error.
	interval, retry = time.Hour, 5 * time.Second
	// keyAuthority is the key of the authority in the Secret.
	keyAuthority = "ca.key"
	// session is the validity of a certificate of the operator, and maxHanded about the number
	// of bytes that the operator hands over at once.
	session, maxHanded = 10 * time.Minute, 2 << 20
)

// Keeper makes and renews the certificates. It is a Runnable of a manager.
type Keeper struct {
	// Secret that holds the certificates. It must exist, and may be empty: the right to
	// create Secrets cannot be limited to one name.
	Secret client.ObjectKey
	// Service of the recorder. Runners get its address, since they cannot ask for names.
	Service client.ObjectKey
	// Interval at which runners sample ports.
	Interval time.Duration
	// Reader reads from the API server, not from a cache, and Writer writes there.
	Reader client.Reader
	Writer client.Writer
	// Now is the clock.
	Now func() time.Time
}

// Start keeps the certificates until ctx ends.
func (k *Keeper) Start(ctx context.Context) error {
	for {
		pause := interval
		if err := k.Ensure(ctx); err != nil {
			log.FromContext(ctx).Error(err, "The certificates of the recorder are not there")
			pause = retry
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
	}
}

// Ensure makes the certificates where they are absent, cannot be read or end soon.
func (k *Keeper) Ensure(ctx context.Context) error {
	var secret corev1.Secret
	if err := k.Reader.Get(ctx, k.Secret, &secret); err != nil {
		return fmt.Errorf("reading the certificates of the recorder: %w", err)
	}
	now := k.Now()
	if bundle, err := pki.FromData(secret.Data); err == nil {
		_, err = pki.RecorderConfig(func() (pki.Bundle, error) { return bundle, bundle.Check() })
		if err == nil && authorityOf(&secret).Valid().After(now.Add(renewBefore)) {
			return nil
		}
	}
	authority, err := pki.NewAuthority(now, now.Add(lifetime))
	if err != nil {
		return err
	}
	own, err := authority.Recorder()
	if err != nil {
		return err
	}
	secret.Data = own.Data()
	secret.Data[keyAuthority] = authority.Key
	// The update carries the version that was read, so that of two operators one writes.
	if err := k.Writer.Update(ctx, &secret); err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("writing the certificates of the recorder: %w", err)
	}
	return nil
}

func authorityOf(secret *corev1.Secret) pki.Authority {
	return pki.Authority{Cert: secret.Data[pki.CAFile], Key: secret.Data[keyAuthority]}
}

// Access returns the address and the credentials with which the runner of a run reaches the
// recorder. They are valid until the given time.
func (k *Keeper) Access(ctx context.Context, uid string, until time.Time) (*runner.Recorder, error) {
	address, authority, err := k.find(ctx)
	if err != nil {
		return nil, err
	}
	b, err := authority.Runner(uid, until)
	if err != nil {
		return nil, err
	}
	return &runner.Recorder{Address: address, CA: b.CA, Cert: b.Cert, Key: b.Key, IntervalMilliseconds: k.Interval.Milliseconds()}, nil
}

// Record hands lines of rows to the recorder, as the operator. When it returns nil, they are
// on its disk.
func (k *Keeper) Record(ctx context.Context, rows [][]byte) error {
	return k.hand(ctx, rows, func(c *recorder.Client, lines [][]byte) error { return c.Take(ctx, lines, nil) })
}

// Sample hands lines of series to the recorder, as the operator.
func (k *Keeper) Sample(ctx context.Context, series [][]byte) error {
	return k.hand(ctx, series, func(c *recorder.Client, lines [][]byte) error { return c.Take(ctx, nil, lines) })
}

// hand hands lines over, as many at once as a request may have.
func (k *Keeper) hand(ctx context.Context, lines [][]byte, take func(*recorder.Client, [][]byte) error) (err error) {
	c, err := k.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	for len(lines) > 0 {
		n, bytes := 0, 0
		for ; n < len(lines) && bytes < maxHanded; n++ {
			bytes += len(lines[n])
		}
		if err := take(c, lines[:n]); err != nil {
			return err
		}
		lines = lines[n:]
	}
	return nil
}

// dial is a client of the recorder with a new certificate of the operator.
func (k *Keeper) dial(ctx context.Context) (*recorder.Client, error) {
	address, authority, err := k.find(ctx)
	if err != nil {
		return nil, err
	}
	b, err := authority.Recording(k.Now().Add(session))
	if err != nil {
		return nil, err
	}
	return recorder.Dial(address, b)
}

// find reads where the recorder is, and the authority of its certificates.
func (k *Keeper) find(ctx context.Context) (address string, _ pki.Authority, _ error) {
	var service corev1.Service
	if err := k.Reader.Get(ctx, k.Service, &service); err != nil {
		return "", pki.Authority{}, fmt.Errorf("looking for the recorder: %w", err)
	}
	if service.Spec.ClusterIP == "" || service.Spec.ClusterIP == corev1.ClusterIPNone || len(service.Spec.Ports) == 0 {
		return "", pki.Authority{}, errors.New("looking for the recorder: its Service has no address")
	}
	var secret corev1.Secret
	if err := k.Reader.Get(ctx, k.Secret, &secret); err != nil {
		return "", pki.Authority{}, fmt.Errorf("reading the certificates of the recorder: %w", err)
	}
	return net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(int(service.Spec.Ports[0].Port))), authorityOf(&secret), nil
}
