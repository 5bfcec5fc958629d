package signed_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	cryptorand "crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/rand/v2"
	"slices"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/report"
	"nodrop.dev/nodrop/internal/reporting/signed"
)

// keys returns a private and a public key in PEM.
func keys(t *testing.T, private crypto.Signer) (priv, pub []byte) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	priv = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if der, err = x509.MarshalPKIXPublicKey(private.Public()); err != nil {
		t.Fatal(err)
	}
	return priv, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

func result(t *testing.T, format report.Format) []byte {
	t.Helper()
	d := report.Document{Schema: report.Schema, Benchmark: report.Identity{Namespace: "team", Name: "router"}, Phase: v1alpha1.PhaseMeasured,
		Inputs: []v1alpha1.SnapshotSource{{Kind: "TrafficProfile", Name: "imix", SHA256: "0123"}}, Rows: []v1alpha1.ResultRow{{Message: "é <&>", Trials: 7}}}
	var text bytes.Buffer
	if err := d.Write(&text, format); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

// TestEnvelopes signs with keys of both kinds, and changes single bytes of the envelope.
func TestEnvelopes(t *testing.T) {
	_, edwards, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), cryptorand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]crypto.Signer{"Ed25519": edwards, "ECDSA": curve} {
		t.Run(name, func(t *testing.T) {
			priv, pub := keys(t, key)
			for _, format := range []report.Format{report.FormatJSON, report.FormatYAML} {
				text := result(t, format)
				envelope, err := signed.Sign(context.Background(), text, priv)
				if err != nil {
					t.Fatal(err)
				}
				opened, err := signed.Open(context.Background(), envelope, pub)
				if err != nil {
					t.Fatal(err)
				}
				_, want, _ := report.Digests(text)
				if contained, computed, err := report.Digests(opened); err != nil || contained != want || computed != want {
					t.Errorf("%s: the opened result has the digests %s and %s, want %s: %v", format, contained, computed, want, err)
				}
				refuseChanges(t, envelope, opened, pub)
			}
		})
	}
}

// refuseChanges changes single bytes of an envelope at random: it is refused, or has the same
// result as before, such as with another key ID.
func refuseChanges(t *testing.T, envelope, opened, pub []byte) {
	t.Helper()
	random := rand.New(rand.NewPCG(26, 6))
	refused := 0
	const changes = 500
	for range changes {
		changed := slices.Clone(envelope)
		at := random.IntN(len(changed))
		changed[at] ^= byte(1 + random.IntN(127))
		got, err := signed.Open(context.Background(), changed, pub)
		if err != nil || !signed.IsEnvelope(changed) {
			refused++
		} else if !bytes.Equal(got, opened) {
			t.Errorf("byte %d was changed, and another result was accepted", at)
		}
	}
	t.Logf("%d of %d envelopes with one changed byte were refused, and the others have the result as it was signed", refused, changes)
	if refused < changes-2 { // white space may become other white space
		t.Errorf("%d of %d envelopes with one changed byte were refused", refused, changes)
	}
}

// TestChangedResultsAreNotSigned refuses to sign a result that was changed after it was written.
func TestChangedResultsAreNotSigned(t *testing.T) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	priv, _ := keys(t, key)
	text := bytes.Replace(result(t, report.FormatJSON), []byte(`"trials": 7`), []byte(`"trials": 8`), 1)
	if _, err := signed.Sign(context.Background(), text, priv); err == nil {
		t.Error("a changed result was signed")
	}
}

// TestStatement holds the statement to the form of in-toto: the subject, and the inputs as materials.
func TestStatement(t *testing.T) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	priv, _ := keys(t, key)
	text := result(t, report.FormatJSON)
	out, err := signed.Sign(context.Background(), text, priv)
	if err != nil {
		t.Fatal(err)
	}
	var envelope struct{ PayloadType, Payload string }
	if err := json.Unmarshal(out, &envelope); err != nil {
		t.Fatal(err)
	}
	body, err := base64.StdEncoding.DecodeString(envelope.Payload)
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Type    string `json:"_type"`
		Subject []struct {
			Name   string
			Digest map[string]string
		}
		PredicateType string
		Predicate     struct {
			Materials []struct {
				Name   string
				Digest map[string]string
			}
		}
	}
	if err := json.Unmarshal(body, &s); err != nil {
		t.Fatal(err)
	}
	_, digest, _ := report.Digests(text)
	if envelope.PayloadType != "application/vnd.in-toto+json" || s.Type != "https://in-toto.io/Statement/v1" || s.PredicateType != signed.PredicateType {
		t.Errorf("payload %q of type %q about %q", envelope.PayloadType, s.Type, s.PredicateType)
	}
	if len(s.Subject) != 1 || s.Subject[0].Name != "team/router" || s.Subject[0].Digest["sha256"] != digest {
		t.Errorf("subject %+v, want team/router with the digest %s", s.Subject, digest)
	}
	if m := s.Predicate.Materials; len(m) != 1 || m[0].Name != "TrafficProfile/imix" || m[0].Digest["sha256"] != "0123" {
		t.Errorf("materials %+v, want the traffic profile imix", m)
	}
}
