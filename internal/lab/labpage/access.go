package labpage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	authenticationv1 "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"

	"nodrop.dev/nodrop/api/v1alpha1"
)

const (
	// remembered is the time for which an answer of the API server is cached. A revoked token
	// or right stops working within this time.
	remembered = time.Minute
	// refused is the time for which a denied right is cached.
	refused = 30 * time.Second
	// reviewTimeout bounds a question to the API server.
	reviewTimeout = 10 * time.Second
	// questions is the maximum number of concurrent access reviews of one request.
	questions = 16
)

// Access identifies users and checks what they may read.
type Access struct {
	Authenticator authenticator.Request
	Authorizer    authorizer.Authorizer
}

// Delegated is the access that the API server decides on, by TokenReviews and
// SubjectAccessReviews. Answers are remembered for up to a minute.
func Delegated(rc *rest.Config, c *http.Client) (Access, error) {
	authn, err := authenticationv1.NewForConfigAndClient(rc, newReviewer(c))
	if err != nil {
		return Access{}, fmt.Errorf("building a client of TokenReviews: %w", err)
	}
	authz, err := authorizationv1.NewForConfigAndClient(rc, c)
	if err != nil {
		return Access{}, fmt.Errorf("building a client of SubjectAccessReviews: %w", err)
	}
	// A request of a person waits for two attempts, not longer.
	retries := &wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 2}
	who, _, err := authenticatorfactory.DelegatingAuthenticatorConfig{
		Anonymous:               &apiserver.AnonymousAuthConfig{Enabled: false},
		TokenAccessReviewClient: authn, TokenAccessReviewTimeout: reviewTimeout,
		CacheTTL: remembered, WebhookRetryBackoff: retries,
	}.New()
	if err != nil {
		return Access{}, fmt.Errorf("building the authentication of the lab page: %w", err)
	}
	what, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: authz, AllowCacheTTL: remembered, DenyCacheTTL: refused, WebhookRetryBackoff: retries,
	}.New()
	if err != nil {
		return Access{}, fmt.Errorf("building the authorization of the lab page: %w", err)
	}
	return Access{newStrangers(who), what}, nil
}

var (
	errUnknown     = errors.New("the request does not identify a user")
	errUnavailable = errors.New("the API server cannot be asked")
)

// identify returns the user who sent a request. The error is errUnknown if the API server does
// not know the token, errUnavailable if it does not answer, and errStrangers if it is not asked.
func (a Access) identify(r *http.Request) (user.Info, error) {
	answer, known, err := a.Authenticator.AuthenticateRequest(r)
	switch {
	case errors.Is(err, errStrangers):
		return nil, err
	case err != nil && noAnswer(err):
		return nil, fmt.Errorf("%w: %w", errUnavailable, err)
	case err != nil || !known:
		return nil, errUnknown
	}
	return answer.User, nil
}

// noAnswer reports whether an error is not the API server's verdict on a token, which has
// no type.
func noAnswer(err error) bool {
	var all utilerrors.Aggregate
	if errors.As(err, &all) {
		for _, one := range all.Errors() {
			if noAnswer(one) {
				return true
			}
		}
		return false
	}
	var status apierrors.APIStatus
	var timeout interface{ Timeout() bool } // of the network, and of contexts
	return errors.As(err, &status) || errors.As(err, &timeout) || errors.Is(err, context.Canceled)
}

// rights checks the permissions of one user for one request.
type rights struct {
	user       user.Info
	authorizer authorizer.Authorizer
}

// may asks for a right of the API group nodrop.dev. Namespace is empty for all of them, name
// for all objects.
func (r rights) may(ctx context.Context, verb, resource, namespace, name string) (bool, error) {
	decision, _, err := r.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: r.user, Verb: verb, APIGroup: v1alpha1.GroupVersion.Group, APIVersion: v1alpha1.GroupVersion.Version,
		Resource: resource, Namespace: namespace, Name: name, ResourceRequest: true,
	})
	if decision == authorizer.DecisionAllow {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("%w: %w", errUnavailable, err)
	}
	return false, nil
}

// scope contains the namespaces in which a user may list a resource.
type scope struct {
	all bool
	in  map[string]bool
}

func (s scope) has(namespace string) bool { return s.all || s.in[namespace] }

// list asks of which of these namespaces a resource may be listed.
func (r rights) list(ctx context.Context, resource string, namespaces []string) (scope, error) {
	return r.scope(ctx, "list", resource, namespaces)
}

// scope asks in which of these namespaces a person may do something.
func (r rights) scope(ctx context.Context, verb, resource string, namespaces []string) (scope, error) {
	all, err := r.may(ctx, verb, resource, "", "")
	if all || err != nil {
		return scope{all: all}, err
	}
	s := scope{in: map[string]bool{}}
	var mu sync.Mutex
	ask, ctx := errgroup.WithContext(ctx)
	ask.SetLimit(questions)
	for _, namespace := range namespaces {
		ask.Go(func() error {
			may, err := r.may(ctx, verb, resource, namespace, "")
			if may {
				mu.Lock()
				defer mu.Unlock()
				s.in[namespace] = true
			}
			return err
		})
	}
	return s, ask.Wait()
}
