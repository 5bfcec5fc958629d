package recordercert

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/reporting/metrics/recorder"
)

// kept counts the points that it was given.
type kept struct{ rows, series int }

func (k *kept) Take(_ context.Context, rows, series [][]byte) error {
	k.rows, k.series = k.rows+len(rows), k.series+len(series)
	return nil
}

func newKeeper(t *testing.T, now *time.Time, address string, objects ...client.Object) *Keeper {
	t.Helper()
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	a, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	objects = append(objects,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "nodrop-system", Name: "certificate"}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "nodrop-system", Name: "recorder"}, Spec: corev1.ServiceSpec{ClusterIP: host, Ports: []corev1.ServicePort{{Port: int32(a.Port)}}}},
	)
	api := fake.NewClientBuilder().WithObjects(objects...).Build()
	return &Keeper{
		Secret: client.ObjectKey{Namespace: "nodrop-system", Name: "certificate"}, Service: client.ObjectKey{Namespace: "nodrop-system", Name: "recorder"},
		Interval: time.Second, Reader: api, Writer: api, Now: func() time.Time { return *now },
	}
}

func (k *Keeper) data(t *testing.T) map[string][]byte {
	t.Helper()
	var secret corev1.Secret
	if err := k.Reader.Get(t.Context(), k.Secret, &secret); err != nil {
		t.Fatal(err)
	}
	return secret.Data
}

// With what the keeper makes a runner hands points of its run to the recorder.
func TestARunnerReachesTheRecorder(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	k := newKeeper(t, &now, l.Addr().String())
	if _, err := k.Access(t.Context(), "1", now.Add(time.Hour)); err == nil {
		t.Error("there is access without certificates")
	}
	if err := k.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	config, err := pki.RecorderConfig(func() (pki.Bundle, error) { return pki.FromData(k.data(t)) })
	if err != nil {
		t.Fatal(err)
	}
	var target kept
	server := recorder.NewServer(&target, config)
	go func() { _ = server.Serve(l) }()
	defer server.Stop()
	access, err := k.Access(t.Context(), "1", now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if access.IntervalMilliseconds != 1000 {
		t.Errorf("an interval of %d ms", access.IntervalMilliseconds)
	}
	c, err := recorder.Dial(access.Address, pki.Bundle{CA: access.CA, Cert: access.Cert, Key: access.Key})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Take(t.Context(), [][]byte{[]byte("nodrop_row run=\"1\" 1\n")}, nil); err != nil || target.rows != 1 {
		t.Errorf("%d rows: %v", target.rows, err)
	}
	// So does the operator.
	row, bed := []byte("nodrop_row run=\"2\" 1\n"), []byte("nodrop_bed,bed=b waiting=0i 1\n")
	if err := errors.Join(k.Record(t.Context(), [][]byte{row}), k.Sample(t.Context(), [][]byte{bed, bed})); err != nil || target.rows != 2 || target.series != 2 {
		t.Errorf("%d rows and %d of series: %v", target.rows, target.series, err)
	}
	pair, err := tls.X509KeyPair(access.Cert, access.Key)
	if err != nil || pair.Leaf.IsCA || pair.Leaf.NotAfter.After(now.Add(pki.MarginDays*24*time.Hour+2*time.Hour)) {
		t.Errorf("the runner's certificate is that of an authority, or outlives its run: %v", err)
	}
}

// Certificates stay until a year before their end, and are replaced when they cannot be
// used.
func TestCertificatesAreRenewed(t *testing.T) {
	t.Parallel()
	now := time.Now()
	k := newKeeper(t, &now, "127.0.0.1:7446")
	ensure := func() map[string][]byte {
		t.Helper()
		if err := k.Ensure(t.Context()); err != nil {
			t.Fatal(err)
		}
		return k.data(t)
	}
	first := ensure()
	var keys []string
	for key := range first {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	if want := []string{pki.CAFile, "ca.key", pki.CertFile, pki.KeyFile}; !slices.Equal(keys, want) {
		t.Errorf("keys %q, want %q", keys, want)
	}
	now = now.Add(lifetime - renewBefore - time.Hour)
	if !bytes.Equal(ensure()[pki.CertFile], first[pki.CertFile]) {
		t.Error("the certificate is renewed before it is due")
	}
	now = now.Add(2 * time.Hour)
	second := ensure()
	if bytes.Equal(second[pki.CertFile], first[pki.CertFile]) || bytes.Equal(second[pki.CAFile], first[pki.CAFile]) {
		t.Error("the certificate is not renewed")
	}
	for _, key := range keys {
		var secret corev1.Secret
		if err := k.Reader.Get(t.Context(), k.Secret, &secret); err != nil {
			t.Fatal(err)
		}
		secret.Data[key] = []byte("damaged")
		if err := k.Writer.Update(t.Context(), &secret); err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(ensure()[key], []byte("damaged")) {
			t.Errorf("%s stays damaged", key)
		}
	}
}
