package labpage

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Own is the access of the person whose credentials a client has: the API server says who
// that is, and checks every request again.
func Own(ctx context.Context, c kubernetes.Interface) (Access, error) {
	who, err := c.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return Access{}, fmt.Errorf("asking the API server who you are: %w", err)
	}
	self := &user.DefaultInfo{Name: who.Status.UserInfo.Username, Groups: who.Status.UserInfo.Groups}
	answers := utilcache.NewLRUExpireCache(1024)
	may := func(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		asked := authorizationv1.ResourceAttributes{
			Verb: a.GetVerb(), Group: a.GetAPIGroup(), Version: a.GetAPIVersion(), Resource: a.GetResource(), Namespace: a.GetNamespace(), Name: a.GetName(),
		}
		key := strings.Join([]string{asked.Verb, asked.Group, asked.Resource, asked.Namespace, asked.Name}, "/")
		decision, known := answers.Get(key)
		if !known {
			review, err := c.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx,
				&authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &asked}}, metav1.CreateOptions{})
			if err != nil {
				return authorizer.DecisionNoOpinion, "", err
			}
			decision = authorizer.DecisionNoOpinion
			if review.Status.Allowed {
				decision = authorizer.DecisionAllow
			}
			answers.Add(key, decision, remembered)
		}
		return decision.(authorizer.Decision), "", nil
	}
	return Access{
		authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
			return &authenticator.Response{User: self}, true, nil
		}),
		authorizer.AuthorizerFunc(may),
	}, nil
}

// kindsOf returns the kinds that a page lists, by their resources.
func kindsOf() map[string]client.Object {
	return map[string]client.Object{
		"testbeds": &v1alpha1.TestBed{}, "benchmarks": &v1alpha1.Benchmark{}, "reservations": &v1alpha1.Reservation{}, "benchmarkschedules": &v1alpha1.BenchmarkSchedule{},
		"labpolicies": &v1alpha1.LabPolicy{},
	}
}

// OwnCaches are caches of what one person may list: of each kind all namespaces, or those of
// the given ones in which the person may list it. They are filled, and end with the context.
func OwnCaches(ctx context.Context, rc *rest.Config, options cache.Options, access Access, namespaces []string) (client.Reader, error) {
	who, err := access.identify(&http.Request{})
	if err != nil {
		return nil, err
	}
	r := rights{who, access.Authorizer}
	options.DefaultTransform, options.ByObject = cache.TransformStripManagedFields(), map[client.Object]cache.ByObject{}
	own := &ownReader{lists: map[string]bool{}}
	kinds := kindsOf()
	for resource, kind := range kinds {
		in := namespaces
		if resource == "testbeds" || resource == "labpolicies" {
			in = nil // They are in no namespace.
		}
		// A cache watches what it lists.
		s, err := r.scope(ctx, "watch", resource, in)
		if err != nil {
			return nil, err
		}
		own.lists[fmt.Sprintf("%TList", kind)] = s.all || len(s.in) > 0
		if !s.all && len(s.in) > 0 {
			in := map[string]cache.Config{}
			for name := range s.in {
				in[name] = cache.Config{}
			}
			options.ByObject[kind] = cache.ByObject{Namespaces: in}
		}
	}
	if !slices.Contains(slices.Collect(maps.Values(own.lists)), true) {
		return nil, errNothing
	}
	caches, err := cache.New(rc, options)
	if err != nil {
		return nil, fmt.Errorf("building caches: %w", err)
	}
	for _, kind := range kinds {
		if own.lists[fmt.Sprintf("%TList", kind)] {
			if _, err := caches.GetInformer(ctx, kind, cache.BlockUntilSynced(false)); err != nil {
				return nil, fmt.Errorf("reading %T: %w", kind, err)
			}
		}
	}
	go func() { _ = caches.Start(ctx) }() // It ends with the context only.
	if !caches.WaitForCacheSync(ctx) {
		return nil, context.Cause(ctx)
	}
	own.Reader = caches
	return own, nil
}

var errNothing = errors.New("you may watch neither test beds nor anything in these namespaces")

// ownReader has nothing of the kinds that a person may list nowhere.
type ownReader struct {
	client.Reader
	lists map[string]bool // by the types of lists
}

// List lists what the person may list.
func (r *ownReader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if !r.lists[fmt.Sprintf("%T", list)] {
		return nil
	}
	return r.Reader.List(ctx, list, options...)
}

// Get gets nothing: no kind of which single objects are asked for is in these caches.
func (r *ownReader) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource(fmt.Sprintf("%T", o)).GroupResource(), key.Name)
}

// Namespaces returns the given namespaces and, if the user may list them, all namespaces of
// the cluster.
func Namespaces(ctx context.Context, c kubernetes.Interface, given []string) ([]string, error) {
	all, err := c.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsForbidden(err):
		all = &corev1.NamespaceList{}
	case err != nil:
		return nil, fmt.Errorf("listing namespaces: %w", err)
	}
	names := slices.Clone(given)
	for i := range all.Items {
		names = append(names, all.Items[i].Name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// NewSecretBase returns a random base path that cannot be guessed.
func NewSecretBase() string { return "/" + rand.Text() + "/" }

// Local serves a page on this machine to those who know its base path only. Other programs
// and pages of the browser do not: a request must be for this address, so that no name of
// elsewhere leads here, and must not come from another page.
func Local(p *Page, at net.Addr) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch from := r.Header.Get("Sec-Fetch-Site"); {
		case r.Host != at.String():
			http.Error(w, "This is not that host.", http.StatusMisdirectedRequest)
		case from != "" && from != "none" && from != "same-origin", r.Header.Get("Origin") != "" && r.Header.Get("Origin") != "http://"+at.String():
			http.Error(w, "Another page may not open this one: open its address yourself.", http.StatusForbidden)
		case len(r.URL.Path) < len(p.Base) || subtle.ConstantTimeCompare([]byte(r.URL.Path[:len(p.Base)]), []byte(p.Base)) != 1:
			http.NotFound(w, r)
		default:
			p.ServeHTTP(w, r)
		}
	})
}
