package kubetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Grant creates roles and bindings, and waits until the API server lets the subjects of each
// binding use each rule of its role: its authorizer reads them from a watch, a moment after
// the request that made them was answered. A ClusterRole that exists stays as it is.
func Grant(t testing.TB, c client.Client, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		err := c.Create(t.Context(), o)
		if _, role := o.(*rbacv1.ClusterRole); role && apierrors.IsAlreadyExists(err) {
			continue
		}
		if err != nil {
			t.Fatalf("creating %T %s: %v", o, o.GetName(), err)
		}
	}
	for _, o := range objects {
		b, is, err := bindingOf(o)
		if is && err == nil {
			err = b.await(t.Context(), c)
		}
		if err != nil {
			t.Fatalf("binding %s: %v", o.GetName(), err)
		}
	}
}

// binding is a RoleBinding, or a ClusterRoleBinding without a namespace.
type binding struct {
	namespace string
	role      rbacv1.RoleRef
	subjects  []rbacv1.Subject
}

// bindingOf reports whether an object is a binding, and returns it.
func bindingOf(o client.Object) (binding, bool, error) {
	switch o := o.(type) {
	case *rbacv1.RoleBinding:
		return binding{o.Namespace, o.RoleRef, o.Subjects}, true, nil
	case *rbacv1.ClusterRoleBinding:
		return binding{"", o.RoleRef, o.Subjects}, true, nil
	case *unstructured.Unstructured:
		var read client.Object = &rbacv1.RoleBinding{}
		switch o.GetKind() {
		case "ClusterRoleBinding":
			read = &rbacv1.ClusterRoleBinding{}
		case "RoleBinding":
		default:
			return binding{}, false, nil
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, read); err != nil {
			return binding{}, false, err
		}
		return bindingOf(read)
	}
	return binding{}, false, nil
}

// await waits until the subjects may use the rules.
func (b binding) await(ctx context.Context, c client.Client) error {
	rules, err := b.rules(ctx, c)
	if err != nil {
		return fmt.Errorf("reading its %s %s: %w", b.role.Kind, b.role.Name, err)
	}
	for _, rule := range rules {
		for _, subject := range b.subjects {
			review := b.review(rule, subject)
			err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
				asked := review.DeepCopy()
				err := c.Create(ctx, asked)
				return asked.Status.Allowed, err
			})
			if err != nil {
				return fmt.Errorf("%s %s has not got the rights %+v: %w", subject.Kind, subject.Name, rule, err)
			}
		}
	}
	return nil
}

// rules reads the rules of the role. Those for paths count only if the binding has no namespace.
func (b binding) rules(ctx context.Context, c client.Client) ([]rbacv1.PolicyRule, error) {
	var rules []rbacv1.PolicyRule
	var err error
	if b.role.Kind == "Role" {
		role := &rbacv1.Role{}
		err = c.Get(ctx, client.ObjectKey{Namespace: b.namespace, Name: b.role.Name}, role)
		rules = role.Rules
	} else {
		role := &rbacv1.ClusterRole{}
		err = c.Get(ctx, client.ObjectKey{Name: b.role.Name}, role)
		rules = role.Rules
	}
	if b.namespace != "" {
		rules = slices.DeleteFunc(rules, func(r rbacv1.PolicyRule) bool { return len(r.NonResourceURLs) > 0 })
	}
	return rules, err
}

// review asks for the first of the rights that a rule gives to a subject.
func (b binding) review(rule rbacv1.PolicyRule, subject rbacv1.Subject) *authorizationv1.SubjectAccessReview {
	review := &authorizationv1.SubjectAccessReview{}
	switch subject.Kind {
	case rbacv1.ServiceAccountKind:
		review.Spec.User = serviceaccount.MakeUsername(subject.Namespace, subject.Name)
	case rbacv1.GroupKind:
		review.Spec.User, review.Spec.Groups = fmt.Sprintf("a member of %s", subject.Name), []string{subject.Name}
	default:
		review.Spec.User = subject.Name
	}
	if len(rule.NonResourceURLs) > 0 {
		review.Spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: rule.NonResourceURLs[0], Verb: rule.Verbs[0]}
		return review
	}
	resource, sub, _ := strings.Cut(rule.Resources[0], "/")
	asked := &authorizationv1.ResourceAttributes{Namespace: b.namespace, Verb: rule.Verbs[0], Group: rule.APIGroups[0], Resource: resource, Subresource: sub}
	if len(rule.ResourceNames) > 0 {
		asked.Name = rule.ResourceNames[0]
	}
	review.Spec.ResourceAttributes = asked
	return review
}
