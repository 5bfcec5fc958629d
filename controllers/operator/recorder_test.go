package operator_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/controllers/operator"
	"nodrop.dev/nodrop/internal/base/pki"
	"nodrop.dev/nodrop/internal/lab/recordercert"
)

// Two operators with the rights of config/rbac make one set of certificates in the Secret
// that the chart leaves empty, and find the recorder by its Service.
func TestCertificatesOfTheRecorder(t *testing.T) {
	r := newRotation(t)
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: operator.DefaultNamespace, Name: name}
	}
	r.Expect(r.admin.Create(t.Context(), &corev1.Secret{ObjectMeta: meta(operator.RecorderSecret)})).To(Succeed())
	service := &corev1.Service{ObjectMeta: meta(operator.RecorderService), Spec: corev1.ServiceSpec{
		Ports: []corev1.ServicePort{{Name: "grpc", Port: 7446, TargetPort: intstr.FromString("grpc")}},
	}}
	r.Expect(r.admin.Create(t.Context(), service)).To(Succeed())
	scheme, err := operator.Scheme()
	r.Expect(err).NotTo(HaveOccurred())
	api, err := client.New(r.replicas, client.Options{Scheme: scheme})
	r.Expect(err).NotTo(HaveOccurred())
	keeper := func() *recordercert.Keeper {
		return &recordercert.Keeper{
			Secret: client.ObjectKey{Namespace: operator.DefaultNamespace, Name: operator.RecorderSecret}, Service: client.ObjectKeyFromObject(service),
			Interval: time.Second, Reader: api, Writer: api, Now: time.Now,
		}
	}
	done := make(chan error, 2)
	for range 2 {
		go func() { done <- keeper().Ensure(t.Context()) }()
	}
	r.Expect(<-done).To(Succeed())
	r.Expect(<-done).To(Succeed())
	access, err := keeper().Access(t.Context(), "1", time.Now().Add(time.Hour))
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(access.Address).To(Equal(service.Spec.ClusterIP + ":7446"))
	var secret corev1.Secret
	r.Expect(r.admin.Get(t.Context(), client.ObjectKey{Namespace: operator.DefaultNamespace, Name: operator.RecorderSecret}, &secret)).To(Succeed())
	r.Expect(access.CA).To(Equal(secret.Data[pki.CAFile]))
	// The operator may read no other Secret there, such as the one with the token.
	r.Expect(r.admin.Create(t.Context(), &corev1.Secret{ObjectMeta: meta("influxdb"), StringData: map[string]string{"token": "secret"}})).To(Succeed())
	r.Expect(api.Get(t.Context(), client.ObjectKey{Namespace: operator.DefaultNamespace, Name: "influxdb"}, &secret)).To(MatchError(ContainSubstring("forbidden")))
}
