package kit

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/dut/router"
	"nodrop.dev/nodrop/internal/lab/labobjects"
	"nodrop.dev/nodrop/internal/measure/plan"
)

// Passwords reads the passwords of the sessions of a bed from their Secrets. A
// problem is something that the owner of the bed has to correct; it names no password.
func (f LabFiles) Passwords(ctx context.Context, bed *v1alpha1.TestBed) (_ labobjects.Passwords, problem string, _ error) {
	sessions, invalid := plan.Sessions(bed)
	if len(invalid) > 0 {
		return nil, invalid.ToAggregate().Error(), nil
	}
	var passwords labobjects.Passwords
	secrets := map[string]*corev1.Secret{}
	for _, s := range sessions {
		if s.Password == nil {
			continue
		}
		path := strings.TrimPrefix(s.Path.Child("passwordSecretRef").String(), "TestBed/"+bed.Name+".")
		secret, read := secrets[s.Password.Name]
		if !read {
			secret = &corev1.Secret{}
			err := f.Live.Get(ctx, client.ObjectKey{Namespace: f.Namespace, Name: s.Password.Name}, secret)
			if apierrors.IsNotFound(err) {
				return nil, fmt.Sprintf("%s.name: Secret %s is not in the lab's namespace %s: create it there, or correct the name", path, s.Password.Name, f.Namespace), nil
			}
			if err != nil {
				return nil, "", fmt.Errorf("reading Secret %s: %w", s.Password.Name, err)
			}
			secrets[s.Password.Name] = secret
		}
		data, has := secret.Data[s.Password.Key]
		if !has {
			return nil, fmt.Sprintf("%s.key: Secret %s has no key %s: add it, or correct the key", path, s.Password.Name, s.Password.Key), nil
		}
		password, err := router.ReadPassword(data)
		if err != nil {
			return nil, fmt.Sprintf("%s: key %s of Secret %s: %v", path, s.Password.Key, s.Password.Name, err), nil
		}
		if passwords == nil {
			passwords = labobjects.Passwords{}
		}
		passwords[s.Name] = password
	}
	return passwords, "", nil
}
