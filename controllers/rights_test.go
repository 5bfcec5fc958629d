package controllers_test

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// right is a verb on a resource, in a namespace or in all, of one name or of all.
type right struct{ namespace, group, resource, name, verb string }

func (r right) String() string {
	text := r.verb + " " + r.resource
	if r.group != "" {
		text += "." + r.group
	}
	if r.name != "" {
		text += " " + r.name
	}
	if r.namespace != "" {
		text += " in namespace " + r.namespace
	}
	return text
}

// usedElsewhere are rights of the operator that no test of this package uses, with the code or the
// test that does.
var usedElsewhere = map[right]string{
	{"", "nodrop.dev", "benchmarkschedules", "", "get"}: "TestAdmission of internal/manifests/admission: acceptances",
	{"", "nodrop.dev", "labpolicies", "", "get"}:        "TestAdmission of internal/manifests/admission: priority classes",
	{"", "nodrop.dev", "reservations", "", "get"}:       "TestAdmission of internal/manifests/admission: reservationName",
	{"", "", "namespaces", "", "get"}:                   "TestAdmission of internal/manifests/admission: grants of beds",

	{"", "admissionregistration.k8s.io", "validatingwebhookconfigurations", "nodrop", "get"}:   "TestCertificateRotates of controllers/operator",
	{"", "admissionregistration.k8s.io", "validatingwebhookconfigurations", "nodrop", "patch"}: "TestCertificateRotates of controllers/operator",
	{"nodrop-system", "", "secrets", "nodrop-webhook-certificate", "get"}:                      "TestCertificateRotates of controllers/operator",
	{"nodrop-system", "", "secrets", "nodrop-webhook-certificate", "update"}:                   "TestCertificateRotates of controllers/operator",
	{"nodrop-system", "", "secrets", "nodrop-recorder-certificate", "get"}:                     "TestCertificatesOfTheRecorder of controllers/operator",
	{"nodrop-system", "", "secrets", "nodrop-recorder-certificate", "update"}:                  "TestCertificatesOfTheRecorder of controllers/operator",
	{"nodrop-system", "", "services", "nodrop-recorder", "get"}:                                "TestCertificatesOfTheRecorder of controllers/operator",

	// The API server asks for create in addition to patch if server-side apply makes the object.
	{"", "", "secrets", "nodrop-connections", "create"}: "TestConnections: server-side apply",
	// Recorders of events patch one that is repeated within minutes.
	{"", "events.k8s.io", "events", "", "patch"}: "k8s.io/client-go/tools/events",
	{"nodrop-system", "", "events", "", "patch"}: "k8s.io/client-go/tools/record",
}

// usedRights are the rights that operators of all tests of this package have used.
var usedRights struct {
	sync.Mutex
	all map[right]bool
}

// recordRights lets a configuration record the rights that its requests need.
func recordRights(cfg *rest.Config) {
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			if r, ok := rightOf(req); ok {
				useRight(r)
				// An API server before 1.34 streams no lists: the same watch then begins with a list.
				if req.URL.Query().Get("sendInitialEvents") == "true" {
					r.verb = "list"
					useRight(r)
				}
			}
			return next.RoundTrip(req)
		})
	})
}

func useRight(r right) {
	usedRights.Lock()
	defer usedRights.Unlock()
	if usedRights.all == nil {
		usedRights.all = map[right]bool{}
	}
	usedRights.all[r] = true
}

// rightOf returns the right that a request to the API server needs. It is false for requests
// without a resource.
func rightOf(req *http.Request) (r right, ok bool) {
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		r.group, parts = parts[1], parts[3:]
	default:
		return r, false
	}
	if parts[0] == "namespaces" && len(parts) >= 3 {
		r.namespace, parts = parts[1], parts[2:]
	}
	r.resource = parts[0]
	if len(parts) > 1 {
		r.name = parts[1]
	}
	if len(parts) > 2 {
		r.resource += "/" + parts[2]
	}
	query := req.URL.Query()
	switch {
	case query.Get("watch") == "true" || query.Get("watch") == "1":
		r.verb = "watch"
	case req.Method == http.MethodGet && r.name == "":
		r.verb = "list"
	case req.Method == http.MethodDelete && r.name == "":
		r.verb = "deletecollection"
	default:
		r.verb = map[string]string{http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}[req.Method]
	}
	return r, true
}

// covers reports whether a granted right allows a request with another one.
func (r right) covers(used right) bool {
	return r.group == used.group && r.resource == used.resource && r.verb == used.verb &&
		(r.namespace == "" || r.namespace == used.namespace) && (r.name == "" || r.name == used.name)
}

// grantedRights are the rights of rules in a namespace; empty is all.
func grantedRights(namespace string, rules []rbacv1.PolicyRule) (all []right) {
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, name := range append(rule.ResourceNames, "")[:max(len(rule.ResourceNames), 1)] {
						all = append(all, right{namespace, group, resource, name, verb})
					}
				}
			}
		}
	}
	return all
}

// operatorRights are the rights of the operator in config/rbac, which the chart grants too,
// and the rights that it has for connection data.
func operatorRights(root string) (all []right, err error) {
	text, err := os.ReadFile(filepath.Join(root, "config", "rbac", "role.yaml"))
	if err != nil {
		return nil, err
	}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var role rbacv1.Role // A ClusterRole has the same members.
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			return nil, err
		}
		all = append(all, grantedRights(role.Namespace, role.Rules)...)
	}
	if text, err = os.ReadFile(filepath.Join(root, "charts", "nodrop", "files", "rbac", "connections.yaml")); err != nil {
		return nil, err
	}
	var rules []rbacv1.PolicyRule
	err = yaml.Unmarshal(text, &rules)
	return append(all, grantedRights("", rules)...), err
}

// checkRights returns a problem for each right that is granted and not used, and for each exception
// that is not granted.
func checkRights(granted []right, used map[right]bool, elsewhere map[right]string) (problems []string) {
	for _, r := range granted {
		isUsed := false
		for u := range used {
			isUsed = isUsed || r.covers(u)
		}
		// Whether a test of this package uses an exception can depend on time: repeated events.
		if !isUsed && elsewhere[r] == "" {
			problems = append(problems, fmt.Sprintf("the operator may %s, and no test uses that: remove it from controllers/rbac.go", r))
		}
	}
	for r := range elsewhere {
		if !slices.Contains(granted, r) {
			problems = append(problems, fmt.Sprintf("the operator may not %s: remove the exception", r))
		}
	}
	slices.Sort(problems)
	return problems
}

// incomplete reports whether some tests of the package did not run, or all that need an API server.
func incomplete() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.bench"} {
		if flag.Lookup(name).Value.String() != "" {
			return true
		}
	}
	return len(servers.all) == 0
}

// unusedRights checks the rights of the operator after all tests of the package. It checks nothing
// if some did not run.
func unusedRights() []string {
	if incomplete() {
		return nil
	}
	granted, err := operatorRights("..")
	if err != nil {
		return []string{err.Error()}
	}
	return checkRights(granted, usedRights.all, usedElsewhere)
}

// TestRights compares rights with requests.
func TestRights(t *testing.T) {
	g := NewWithT(t)
	request := func(method, path string) right {
		req, err := http.NewRequest(method, "https://localhost"+path, nil)
		g.Expect(err).NotTo(HaveOccurred())
		r, ok := rightOf(req)
		g.Expect(ok).To(BeTrue(), path)
		return r
	}
	used := map[right]bool{}
	for _, r := range []right{
		request(http.MethodGet, "/api/v1/namespaces"),
		request(http.MethodGet, "/api/v1/namespaces?watch=true&timeoutSeconds=5"),
		request(http.MethodGet, "/api/v1/namespaces/team"),
		request(http.MethodPatch, "/apis/nodrop.dev/v1alpha1/namespaces/team/benchmarks/b/status"),
		request(http.MethodPut, "/api/v1/namespaces/nodrop-system/secrets/one"),
		request(http.MethodPost, "/api/v1/namespaces/nodrop-lab/pods"),
		request(http.MethodDelete, "/api/v1/namespaces/nodrop-lab/pods/p"),
	} {
		used[r] = true
	}
	granted := slices.Concat(
		grantedRights("", []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{"nodrop.dev"}, Resources: []string{"benchmarks/status"}, Verbs: []string{"patch", "update"}},
		}),
		grantedRights("nodrop-system", []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"one", "two"}, Verbs: []string{"update"}}}),
		grantedRights("nodrop-lab", []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"create", "delete", "deletecollection"}}}),
	)
	g.Expect(checkRights(granted, used, map[right]string{
		{resource: "gone", verb: "get"}: "a right that is not granted",
		{namespace: "nodrop-system", resource: "secrets", name: "two", verb: "update"}: "another test",
	})).To(ConsistOf(
		HavePrefix("the operator may update benchmarks/status.nodrop.dev, and no test uses that"),
		HavePrefix("the operator may deletecollection pods in namespace nodrop-lab, and no test uses that"),
		HavePrefix("the operator may not get gone: remove the exception"),
	))
	all, err := operatorRights("..")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(all).To(ContainElements(right{group: "nodrop.dev", resource: "testbeds", verb: "watch"}, right{"nodrop-lab", "", "pods", "", "create"}))
}
