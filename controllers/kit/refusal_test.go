package kit

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestIsRefused(t *testing.T) {
	t.Parallel()
	pods := schema.GroupResource{Resource: "pods"}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"no role":               {fmt.Errorf("listing: %w", apierrors.NewForbidden(pods, "", errors.New("no role"))), true},
		"no namespace":          {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "nodrop-lab"), true},
		"no failure":            {nil, false},
		"written by another":    {apierrors.NewConflict(pods, "agent-0", errors.New("modified")), false},
		"too many requests":     {apierrors.NewTooManyRequests("later", 1), false},
		"broken API server":     {apierrors.NewInternalError(errors.New("no leader")), false},
		"no answer":             {context.DeadlineExceeded, false},
		"a failure of our code": {errors.New("no such row"), false},
	} {
		if got := IsRefused(tc.err); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
