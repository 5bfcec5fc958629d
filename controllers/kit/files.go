package kit

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/measure/runner"
)

// LabFiles reads the ConfigMaps and Secrets of the owner of the lab.
type LabFiles struct {
	// Live reads from the API server.
	Live client.Reader
	// Namespace of the lab.
	Namespace string
}

// ConfigMap reads a ConfigMap that a bed refers to. A problem is something that the owner
// of the bed has to correct.
func (f LabFiles) ConfigMap(ctx context.Context, ref v1alpha1.ConfigMapKeyReference) (_ *corev1.ConfigMap, problem string, _ error) {
	config := &corev1.ConfigMap{}
	err := f.Live.Get(ctx, client.ObjectKey{Namespace: f.Namespace, Name: ref.Name}, config)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Sprintf("ConfigMap %s is not in the lab's namespace %s: apply it there, or correct configMapRef.name", ref.Name, f.Namespace), nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("reading ConfigMap %s: %w", ref.Name, err)
	}
	return config, KeyProblem(config, f.Namespace, ref), nil
}

// Configuration reads a configuration of a device. A problem is something that the owner of the bed has to
// correct.
func (f LabFiles) Configuration(ctx context.Context, ref v1alpha1.ConfigMapKeyReference) (text, problem string, _ error) {
	config, problem, err := f.ConfigMap(ctx, ref)
	if err != nil || problem != "" {
		return "", problem, err
	}
	return config.Data[ref.Key], "", nil
}

// ReadTables fills in the texts of the tables of a modeled device. A table that
// is not there, or that cannot be read, is a problem.
func ReadTables(ctx context.Context, read files, cfg *runner.Config) (problem string, _ error) {
	for _, t := range cfg.Tables() {
		config, problem, err := read(ctx, t.Ref)
		if err != nil || problem != "" {
			return problem, err
		}
		*t.Text = config.Data[t.Ref.Key]
		if size := len(*t.Text); size > MaxTable {
			return fmt.Sprintf("ConfigMap %s, key %s has %d KiB, and a table may have at most %d KiB: keep only the frame sizes and loads that are measured",
				config.Name, t.Ref.Key, (size+1023)>>10, MaxTable>>10), nil
		}
	}
	if err := cfg.CheckTables(); err != nil {
		return "spec." + err.Error(), nil
	}
	return "", nil
}

// Connection reads the connection data of a bed. A problem is something that the owner of
// the lab has to correct; it says nothing of the values.
func (f LabFiles) Connection(ctx context.Context, bed *v1alpha1.TestBed) (_ map[string][]byte, problem string, _ error) {
	name := bed.Spec.Connection.SecretName
	path := "spec.connection.secretName: "
	secret := &corev1.Secret{}
	err := f.Live.Get(ctx, client.ObjectKey{Namespace: f.Namespace, Name: name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Sprintf("%sSecret %s is not in the lab's namespace %s: its owner has to create it there, or to correct the name", path, name, f.Namespace), nil
	case err != nil:
		return nil, "", fmt.Errorf("reading Secret %s: %w", name, err)
	case secret.Type != v1alpha1.ConnectionSecretType:
		return nil, fmt.Sprintf("%sSecret %s has type %s, and only Secrets of type %s are handed out: create it again with that type", path, name, secret.Type, v1alpha1.ConnectionSecretType), nil
	case len(secret.Data) == 0:
		return nil, fmt.Sprintf("%sSecret %s is empty: add keys such as console and management", path, name), nil
	}
	if size := SizeOf(secret.Data); size > maxConnection {
		return nil, fmt.Sprintf("%sSecret %s has %d bytes, and %d are handed out at most: make it shorter", path, name, size, maxConnection), nil
	}
	for key := range secret.Data {
		if len(ConnectionKey(bed, key)) > maxSecretKey {
			return nil, fmt.Sprintf("%skey %s of Secret %s with the name of the bed is longer than %d characters: give a shorter key", path, key, name, maxSecretKey), nil
		}
	}
	return secret.Data, "", nil
}

// files reads the ConfigMaps of a bed: from the lab's namespace, or from snapshots.
type files func(ctx context.Context, ref v1alpha1.ConfigMapKeyReference) (_ *corev1.ConfigMap, problem string, _ error)

// MaxTable is the maximum size of a table in bytes: the runner's Secret holds three of them,
// compressed, and stays below 256 KiB.
const MaxTable = 48 << 10

// ConnectionKey is the key under which a datum of a bed is handed out. Names of beds have no
// underscore.
func ConnectionKey(bed *v1alpha1.TestBed, key string) string { return bed.Name + "_" + key }

// SizeOf returns the size of the data of a Secret, with its keys, in bytes.
func SizeOf(data map[string][]byte) int {
	size := 0
	for key, value := range data {
		size += len(key) + len(value)
	}
	return size
}

const (
	// maxConnection bounds the connection data of one bed.
	maxConnection = 8 << 10
	// maxSecretKey is the maximum length of a key of a Secret.
	maxSecretKey = 253
)

// KeyProblem describes that a ConfigMap lacks a key; "" if it has the key.
func KeyProblem(config *corev1.ConfigMap, namespace string, ref v1alpha1.ConfigMapKeyReference) string {
	_, text := config.Data[ref.Key]
	_, binary := config.BinaryData[ref.Key]
	if !text && !binary {
		return fmt.Sprintf("ConfigMap %s in namespace %s has no key %s: add it, or correct configMapRef.key", ref.Name, namespace, ref.Key)
	}
	return ""
}
