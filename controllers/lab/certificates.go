package lab

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"nodrop.dev/nodrop/internal/pki"
)

// Owners of certificates, as they are named in the secret.
const (
	ownerOperator = "operator"
	ownerRunner   = "runner"
)

func ownerAgent(index int) string { return fmt.Sprintf("agent-%d", index) }

// CertificatesName is the name of the secret with the run's certificates.
func CertificatesName(run Run) string { return run.certificatesName() }

// CertificatesSecret holds all certificates of a run in one object: their
// authority's key is never stored, so they can only be made together, and an
// operator that dies in between leaves either all of them or none. A pod gets
// only the files that are its own.
func CertificatesSecret(s Settings, run Run, set pki.Set) *corev1.Secret {
	files := map[string][]byte{pki.CAFile: set.Operator.CA}
	add := func(owner string, b pki.Bundle) {
		files[owner+".crt"], files[owner+".key"] = b.Cert, b.Key
	}
	add(ownerOperator, set.Operator)
	add(ownerRunner, set.Runner)
	for i, b := range set.Agents {
		add(ownerAgent(i), b)
	}
	sec := secret(s, run, run.certificatesName(), "", files)
	sec.Immutable = ptr(true)
	return sec
}

// OperatorCertificate is what the operator asks the runner with.
func OperatorCertificate(sec *corev1.Secret) (pki.Bundle, error) {
	return pki.FromData(map[string][]byte{
		pki.CAFile:   sec.Data[pki.CAFile],
		pki.CertFile: sec.Data[ownerOperator+".crt"],
		pki.KeyFile:  sec.Data[ownerOperator+".key"],
	})
}

// certificateVolume gives a pod the certificate that was issued to owner.
func certificateVolume(run Run, owner string) corev1.Volume {
	v := secretVolume("tls", run.certificatesName())
	v.Secret.Items = []corev1.KeyToPath{
		{Key: pki.CAFile, Path: pki.CAFile},
		{Key: owner + ".crt", Path: pki.CertFile},
		{Key: owner + ".key", Path: pki.KeyFile},
	}
	return v
}
