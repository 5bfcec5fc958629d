package stored

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/internal/reporting/history"
)

// NamespaceUID returns the UID of a namespace. The reader must be the API server: a cache may still
// have the predecessor of a namespace that was created again.
func NamespaceUID(ctx context.Context, reader client.Reader, namespace string) (string, error) {
	var n corev1.Namespace
	if err := reader.Get(ctx, client.ObjectKey{Name: namespace}, &n); err != nil {
		return "", fmt.Errorf("reading the UID of namespace %s: %w", namespace, err)
	}
	return string(n.UID), nil
}

// HistoryOf returns the key of a history in an archive: of the namespace that exists now, not of an
// earlier one with its name. The reader must be the API server.
func HistoryOf(ctx context.Context, reader client.Reader, namespace, name string) (history.Key, error) {
	uid, err := NamespaceUID(ctx, reader, namespace)
	return history.Key{Namespace: namespace, NamespaceUID: uid, Name: name}, err
}

// ReadableNamespaceUID returns the UID of a namespace, or "" if the person whose rights the reader has may
// not read it.
func ReadableNamespaceUID(ctx context.Context, reader client.Reader, namespace string) (string, error) {
	uid, err := NamespaceUID(ctx, reader, namespace)
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return "", nil
	}
	return uid, err
}
