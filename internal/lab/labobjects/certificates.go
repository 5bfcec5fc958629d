package labobjects

import (
	"crypto/sha256"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"nodrop.dev/nodrop/internal/base/pki"
)

// Owners of certificates, as they are named in the secret.
const (
	ownerOperator = "operator"
	ownerRunner   = "runner"
)

func ownerAgent(index int) string { return fmt.Sprintf("agent-%d", index) }

// CertificatesName is the name of the secret with the certificates of operator and
// runner, and of the first agents.
func CertificatesName(run Run) string { return run.certificatesName() }

// agentsPerSecret is the number of agents' certificates in one object, about 1.4 KiB each:
// the certificates of a large bed do not fit in one object.
const agentsPerSecret = 128

// CertificatesSecrets hold all certificates of a run, in the order in which they are to
// be written. The key of their authority is never stored, so they can only be made
// together. The last one, CertificatesName, makes the set valid: an operator that dies
// before it was written leaves secrets that no pod refers to, because the name of each
// contains a digest of its authority. A pod gets only the files that are its own.
func CertificatesSecrets(s Settings, run Run, set pki.Set) []*corev1.Secret {
	files := map[string][]byte{pki.CAFile: set.Operator.CA}
	add := func(files map[string][]byte, owner string, b pki.Bundle) {
		files[owner+".crt"], files[owner+".key"] = b.Cert, b.Key
	}
	add(files, ownerOperator, set.Operator)
	add(files, ownerRunner, set.Runner)
	for i, b := range set.Agents[:min(len(set.Agents), agentsPerSecret)] {
		add(files, ownerAgent(i), b)
	}
	var secrets []*corev1.Secret
	for first := agentsPerSecret; first < len(set.Agents); first += agentsPerSecret {
		more := map[string][]byte{pki.CAFile: set.Operator.CA}
		for i := first; i < min(first+agentsPerSecret, len(set.Agents)); i++ {
			add(more, ownerAgent(i), set.Agents[i])
		}
		secrets = append(secrets, secret(s, run, agentCertificatesName(run, set.Operator.CA, first), "", more))
	}
	secrets = append(secrets, secret(s, run, run.certificatesName(), "", files))
	for _, sec := range secrets {
		sec.Immutable = ptr(true)
	}
	return secrets
}

// agentCertificatesName is the name of the secret with an agent's certificate, which
// the authority ca has issued.
func agentCertificatesName(run Run, ca []byte, index int) string {
	if index < agentsPerSecret {
		return run.certificatesName()
	}
	sum := sha256.Sum256(ca)
	return fmt.Sprintf("%s-%x-%d", run.certificatesName(), sum[:4], index/agentsPerSecret)
}

// WithCertificate returns the agent with the secret that holds its certificate, of the
// set that the secret CertificatesName belongs to.
func (a Agent) WithCertificate(run Run, sec *corev1.Secret) Agent {
	a.certificates = agentCertificatesName(run, sec.Data[pki.CAFile], a.Index)
	return a
}

// OperatorCertificate is the operator's certificate for calls to the runner.
func OperatorCertificate(sec *corev1.Secret) (pki.Bundle, error) {
	return pki.FromData(map[string][]byte{
		pki.CAFile:   sec.Data[pki.CAFile],
		pki.CertFile: sec.Data[ownerOperator+".crt"],
		pki.KeyFile:  sec.Data[ownerOperator+".key"],
	})
}

// certificateVolume mounts the certificate of owner from a secret with certificates.
func certificateVolume(secret, owner string) corev1.Volume {
	v := secretVolume("tls", secret)
	v.Secret.Items = []corev1.KeyToPath{
		{Key: pki.CAFile, Path: pki.CAFile},
		{Key: owner + ".crt", Path: pki.CertFile},
		{Key: owner + ".key", Path: pki.KeyFile},
	}
	return v
}
