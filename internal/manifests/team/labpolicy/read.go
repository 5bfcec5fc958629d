// Package labpolicy reads the LabPolicy. It is not in package team, which programs without a
// cluster use, too.
package labpolicy

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Read reads the LabPolicy; nil where there is none.
func Read(ctx context.Context, c client.Reader) (*v1alpha1.LabPolicy, error) {
	p := &v1alpha1.LabPolicy{}
	err := c.Get(ctx, client.ObjectKey{Name: v1alpha1.LabPolicyName}, p)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading LabPolicy %s: %w", v1alpha1.LabPolicyName, err)
	}
	return p, nil
}
