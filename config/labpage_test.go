package config

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"nodrop.dev/nodrop/controllers/operator"
)

// TestLabPage checks what labPage.enabled adds: a port, its Service, the right to review
// tokens and access, and a rule of the network policy. Without it the chart installs none of
// them.
func TestLabPage(t *testing.T) {
	without, err := chart(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range without {
		if strings.Contains(o.GetName(), "page") {
			t.Errorf("%s %s is installed without labPage.enabled", o.GetKind(), o.GetName())
		}
	}
	enabled := []string{"--set", "labPage.enabled=true", "--set-json", `networkPolicy.pageFrom=[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"sign-in"}}}]`}
	objects, err := chart(t, enabled...)
	if err != nil {
		t.Fatal(err)
	}
	want := []rbacv1.PolicyRule{
		{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"}},
		{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"}},
	}
	if got := as[rbacv1.ClusterRole](t, objects, "ClusterRole", "nodrop-page-auth").Rules; !slices.EqualFunc(got, want, func(a, b rbacv1.PolicyRule) bool { return a.String() == b.String() }) {
		t.Errorf("nodrop-page-auth has the rules %v", got)
	}
	if s := as[rbacv1.ClusterRoleBinding](t, objects, "ClusterRoleBinding", "nodrop-page-auth").Subjects; len(s) != 1 || s[0].Namespace+"/"+s[0].Name != "nodrop-system/nodrop-operator" {
		t.Errorf("nodrop-page-auth is bound to %v", s)
	}
	deployment := as[appsv1.Deployment](t, objects, "Deployment", "nodrop-operator")
	container := deployment.Spec.Template.Spec.Containers[0]
	service := as[corev1.Service](t, objects, "Service", operator.PageService).Spec.Ports[0]
	if !slices.Contains(container.Args, "--page-bind-address=:8444") || service.Port != 8444 ||
		!slices.ContainsFunc(container.Ports, func(p corev1.ContainerPort) bool {
			return p.Name == service.TargetPort.StrVal && p.ContainerPort == 8444
		}) {
		t.Errorf("the Service leads to %s, the operator has the ports %v and the arguments %q", service.TargetPort.StrVal, container.Ports, container.Args)
	}
	all, to := policiesOf(t, objects), peerOf(deployment.Namespace, &deployment.Spec.Template)
	if !all.allow(peer{namespace: "sign-in"}, to, 8444) || all.allow(peer{namespace: "team-routing"}, to, 8444) {
		t.Error("the proxy does not reach the page, or others do")
	}

	objects, err = chart(t, "--set", "labPage.enabled=true")
	if err != nil {
		t.Fatal(err)
	}
	if all := policiesOf(t, objects); !all.allow(peer{namespace: deployment.Namespace}, to, 8444) || all.allow(peer{namespace: "team-routing"}, to, 8444) {
		t.Error("by default, the page is open to other namespaces than the operator's, or not to that")
	}
	objects, err = chart(t, append(enabled, "--set", "labPage.certificateSecret=page-tls")...)
	if err != nil {
		t.Fatal(err)
	}
	pod := as[appsv1.Deployment](t, objects, "Deployment", "nodrop-operator").Spec.Template.Spec
	if !slices.Contains(pod.Containers[0].Args, "--page-cert-dir=/etc/nodrop/page") ||
		!slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Secret != nil && v.Secret.SecretName == "page-tls" }) {
		t.Errorf("the operator does not have the certificate of the page: %q", pod.Containers[0].Args)
	}
	objects, err = chart(t, append(enabled, "--set", "webhook.certManager=true")...)
	if err != nil {
		t.Fatal(err)
	}
	names, _ := find(t, objects, "Certificate", "nodrop-webhook").Object["spec"].(map[string]any)["dnsNames"].([]any)
	if !slices.Contains(names, any("nodrop-page.nodrop-system.svc")) {
		t.Errorf("the certificate of cert-manager has the names %v", names)
	}
}
