package kit

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// PatchBed patches the status of a bed, and returns the bed as it is then. With a
// version it fails with a conflict when the bed was written since.
func PatchBed(ctx context.Context, writer client.StatusClient, bed *v1alpha1.TestBed, status map[string]any, version string) (*v1alpha1.TestBed, error) {
	body := map[string]any{"status": status}
	if version != "" {
		body["metadata"] = map[string]any{"resourceVersion": version}
	}
	after := Named(&v1alpha1.TestBed{}, bed)
	if err := writer.Status().Patch(ctx, after, MergePatch(body)); err != nil {
		return nil, fmt.Errorf("storing the status of test bed %s: %w", bed.Name, err)
	}
	return after, nil
}

// Named is an empty object with the name of another one, to patch it by its name.
func Named[T client.Object](empty, of T) T {
	empty.SetNamespace(of.GetNamespace())
	empty.SetName(of.GetName())
	return empty
}

// MergePatch is a JSON merge patch (RFC 7386).
func MergePatch(body map[string]any) client.Patch { return patchOf(types.MergePatchType, body) }

// applyPatch is a patch of server-side apply.
func applyPatch(body map[string]any) client.Patch { return patchOf(types.ApplyPatchType, body) }

func patchOf(kind types.PatchType, body any) client.Patch {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // The bodies are built of types that can be marshalled.
	}
	return client.RawPatch(kind, text)
}

// BrokenError is a failure that a retry does not solve.
type BrokenError struct{ err error }

func (e *BrokenError) Error() string { return e.err.Error() }

// Permanent returns a failure that a retry does not solve.
func Permanent(err error) error { return &BrokenError{err} }

// Sleep waits, and reports whether the context still goes on.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
