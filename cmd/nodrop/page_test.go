//go:build !standalone

package main

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/exit"
	"nodrop.dev/nodrop/internal/testkit/kubetest"
)

// served is the address that a command serves the page at.
func (p *process) served() *url.URL {
	p.t.Helper()
	p.says("Ctrl-C ends it")
	eventually(p.t, "an address", func() bool { return strings.Contains(p.stdout.String(), "\n") }, p.stderr.String)
	at, err := url.Parse(strings.TrimSpace(p.stdout.String()))
	if err != nil {
		p.t.Fatal(err)
	}
	return at
}

// fetch asks for an address as a browser does.
func fetch(t *testing.T, method, address string, header map[string]string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		r.Header.Set(name, value)
		if name == "Host" {
			r.Host = value
		}
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// TestPage serves the page to an administrator and to a member of one team, who sees no other
// team. The page opens only at its secret address.
func TestPage(t *testing.T) {
	sendsNoFrames(t)
	c := newAPIServer(t)
	c.bedWithHolder("bed", "team/other", 5)
	c.benchmark("mine", inPhase(v1alpha1.PhaseRunning, ""))
	c.store("mine", oneRow...)
	if err := c.client.Create(t.Context(), &v1alpha1.Reservation{
		ObjectMeta: metav1.ObjectMeta{Name: "hands-on", Namespace: "kube-public"},
		Spec:       v1alpha1.ReservationSpec{TestBedNames: []string{"bed"}, From: metav1.Now(), Until: metav1.NewTime(metav1.Now().Add(3600e9)), Purpose: "of others"},
	}); err != nil {
		t.Fatal(err)
	}
	all := c.nodrop(t, "page")
	at := all.served()
	base := at.String()
	for path, want := range map[string]string{"": "team/other", "benchmarks?view=waiting": "mine", "reservations": "of others", "results/default/mine": "Benchmark report", "static/style.css": "body"} {
		if status, text := fetch(t, http.MethodGet, base+path, nil); status != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: status %d, no %q: %s", path, status, want, text)
		}
	}

	// Other pages and names of elsewhere do not lead there.
	root := at.Scheme + "://" + at.Host + "/"
	for name, tc := range map[string]struct {
		method, address string
		header          map[string]string
		want            int
	}{
		"no secret":        {http.MethodGet, root, nil, http.StatusNotFound},
		"another secret":   {http.MethodGet, root + strings.Repeat("A", 26) + "/", nil, http.StatusNotFound},
		"a name":           {http.MethodGet, base, map[string]string{"Host": "rebound.example:80"}, http.StatusMisdirectedRequest},
		"localhost":        {http.MethodGet, base, map[string]string{"Host": "localhost:" + at.Port()}, http.StatusMisdirectedRequest},
		"another page":     {http.MethodGet, base, map[string]string{"Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		"another port":     {http.MethodGet, base, map[string]string{"Sec-Fetch-Site": "same-site"}, http.StatusForbidden},
		"another origin":   {http.MethodGet, base, map[string]string{"Origin": "https://elsewhere.example"}, http.StatusForbidden},
		"the page itself":  {http.MethodGet, base, map[string]string{"Sec-Fetch-Site": "same-origin"}, http.StatusOK},
		"a typed address":  {http.MethodGet, base, map[string]string{"Sec-Fetch-Site": "none"}, http.StatusOK},
		"another method":   {http.MethodPost, base, nil, http.StatusMethodNotAllowed},
		"a parent of it":   {http.MethodGet, base + "../", nil, http.StatusNotFound},
		"a page not there": {http.MethodGet, base + "nothing", nil, http.StatusNotFound},
	} {
		if status, text := fetch(t, tc.method, tc.address, tc.header); status != tc.want {
			t.Errorf("%s: status %d, want %d: %s", name, status, tc.want, text)
		}
	}

	view := []rbacv1.PolicyRule{{APIGroups: []string{"nodrop.dev"}, Resources: []string{"benchmarks", "reservations"}, Verbs: []string{"get", "list", "watch"}}}
	team := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "somebody"}}
	kubetest.Grant(t, c.client,
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "team", Namespace: "default"}, Rules: view},
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "team", Namespace: "default"}, Subjects: team, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "team"}},
	)
	some := c.nodrop(t, "page", "--as", "somebody", "--namespaces", "kube-public")
	base = some.served().String()
	for path, want := range map[string]string{"": "You may not list the beds", "benchmarks?view=waiting": "mine", "reservations": "No reservation", "schedules": "No schedule"} {
		if _, text := fetch(t, http.MethodGet, base+path, nil); !strings.Contains(text, want) || strings.Contains(text, "of others") || !strings.Contains(text, "Signed in as somebody") {
			t.Errorf("%s: no %q, or what is of others: %s", path, want, text)
		}
	}
	if status, _ := fetch(t, http.MethodGet, base+"results/default/mine", nil); status != http.StatusForbidden {
		t.Errorf("without the right to read rows: status %d", status)
	}
	c.nodrop(t, "page", "--as", "nobody").wants(exit.Use, "", "ask for the ClusterRole view")
	for _, p := range []*process{all, some} {
		if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		p.wants(0, "", "")
	}
}
