package controllers

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

var errNoMultus = errors.New("the cluster does not serve NetworkAttachmentDefinition: install Multus, which moves interfaces into traffic pods")

// refusal turns a permanent error of the API server into a brokenError that says what to
// do. It returns other errors unchanged.
func (b *base) refusal(err error) error {
	switch {
	case meta.IsNoMatchError(err):
		return &brokenError{errNoMultus}
	case apierrors.IsInvalid(err):
		return &brokenError{fmt.Errorf("the bed asks for what the API server refuses: %w", err)}
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "violates PodSecurity"):
		return &brokenError{fmt.Errorf("%w; the lab's pods hold network interfaces: kubectl label --overwrite namespace %s pod-security.kubernetes.io/enforce=privileged", err, b.Lab.Namespace)}
	}
	return err
}
