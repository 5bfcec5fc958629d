package kit

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// ErrNoMultus is the error of a cluster without Multus.
var ErrNoMultus = errors.New("the cluster does not serve NetworkAttachmentDefinition: install Multus, which moves interfaces into traffic pods")

// Refusal turns a permanent error of the API server into a BrokenError that says what to
// do in the namespace of the lab. It returns other errors unchanged.
func Refusal(err error, namespace string) error {
	switch {
	case meta.IsNoMatchError(err):
		return Permanent(ErrNoMultus)
	case apierrors.IsInvalid(err):
		return Permanent(fmt.Errorf("the bed asks for what the API server refuses: %w", err))
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "violates PodSecurity"):
		return Permanent(fmt.Errorf("%w; the lab's pods hold network interfaces: kubectl label --overwrite namespace %s pod-security.kubernetes.io/enforce=privileged", err, namespace))
	}
	return err
}

// IsRefused reports whether the API server refused a request, for example because a role is missing. Conflicts do not
// count, nor do failures to reach the API server.
func IsRefused(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !NoAnswer(err)
}
