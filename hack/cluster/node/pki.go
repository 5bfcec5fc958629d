package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// A lab cluster lives for hours; its certificates must outlive it, not last.
const certificateLife = 365 * 24 * time.Hour

// authority signs the certificates of one cluster.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

func newAuthority(name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the key of authority %s: %w", name, err)
	}
	template := newTemplate(pkix.Name{CommonName: name})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("signing authority %s: %w", name, err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading back authority %s: %w", name, err)
	}
	return &authority{certificate, key, encodePEM("CERTIFICATE", der)}, nil
}

// client issues a client certificate; Kubernetes takes the common name as user and the
// organization as group.
func (a *authority) client(user string, groups ...string) (certificate, key []byte, err error) {
	template := newTemplate(pkix.Name{CommonName: user, Organization: groups})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(template)
}

// server issues a serving certificate for names and addresses.
func (a *authority) server(name string, names []string, addresses ...string) (certificate, key []byte, err error) {
	template := newTemplate(pkix.Name{CommonName: name})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.DNSNames = names
	for _, address := range addresses {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(address))
	}
	return a.issue(template)
}

func (a *authority) issue(template *x509.Certificate) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("making the key of %s: %w", template.Subject, err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, private.Public(), a.key)
	if err != nil {
		return nil, nil, fmt.Errorf("signing %s: %w", template.Subject, err)
	}
	keyPEM, err := encodeKey(private)
	return encodePEM("CERTIFICATE", der), keyPEM, err
}

func newTemplate(subject pkix.Name) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic(err) // crypto/rand does not fail on Linux
	}
	now := time.Now()
	return &x509.Certificate{
		Subject: subject, SerialNumber: serial, KeyUsage: x509.KeyUsageDigitalSignature,
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLife),
	}
}

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func encodeKey(key crypto.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a private key: %w", err)
	}
	return encodePEM("PRIVATE KEY", der), nil
}

// writePKI makes every key, certificate and kubeconfig of the cluster in dir.
func writePKI(dir string) error {
	ca, err := newAuthority("nodrop-lab")
	if err != nil {
		return err
	}
	frontProxyCA, err := newAuthority("nodrop-lab-front-proxy")
	if err != nil {
		return err
	}
	files := map[string][]byte{"ca.crt": ca.pem, "front-proxy-ca.crt": frontProxyCA.pem}
	if files["ca.key"], err = encodeKey(ca.key); err != nil {
		return err
	}
	if err := addServiceAccountKeys(files); err != nil {
		return err
	}

	pair := func(name string) func(certificate, key []byte, err error) error {
		return func(certificate, key []byte, err error) error {
			files[name+".crt"], files[name+".key"] = certificate, key
			return err
		}
	}
	names := []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "localhost"}
	if err := pair("apiserver")(ca.server("kube-apiserver", names, "127.0.0.1", kubernetesIP, nodeIP)); err != nil {
		return err
	}
	if err := pair("kubelet-client")(ca.client("kube-apiserver", "system:masters")); err != nil {
		return err
	}
	if err := pair("front-proxy-client")(frontProxyCA.client("front-proxy-client")); err != nil {
		return err
	}
	for name, identity := range map[string][]string{
		"admin":              {"admin", "system:masters"},
		"controller-manager": {"system:kube-controller-manager"},
		"scheduler":          {"system:kube-scheduler"},
		"proxy":              {"system:kube-proxy"},
		"kubelet":            {"system:node:" + nodeName, "system:nodes"},
		"multus":             {"nodrop:multus"}, // its rights: manifests/multus.yaml
	} {
		certificate, key, err := ca.client(identity[0], identity[1:]...)
		if err != nil {
			return err
		}
		files[name+".kubeconfig"] = kubeconfig(ca.pem, certificate, key)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return fmt.Errorf("writing the cluster's keys: %w", err)
		}
	}
	return nil
}

// addServiceAccountKeys makes the pair that signs the tokens of pods.
func addServiceAccountKeys(files map[string][]byte) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return fmt.Errorf("making the service-account key: %w", err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("encoding the service-account key: %w", err)
	}
	files["service-account.pub"] = encodePEM("PUBLIC KEY", public)
	files["service-account.key"], err = encodeKey(key)
	return err
}

func kubeconfig(ca, certificate, key []byte) []byte {
	encode := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- name: nodrop
  cluster: {server: %q, certificate-authority-data: %s}
users:
- name: nodrop
  user: {client-certificate-data: %s, client-key-data: %s}
contexts:
- name: nodrop
  context: {cluster: nodrop, user: nodrop}
current-context: nodrop
`, apiServer, encode(ca), encode(certificate), encode(key))
}
