package signed

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"github.com/secure-systems-lab/go-securesystemslib/signerverifier"
	"sigs.k8s.io/yaml"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/reporting/report"
)

const (
	// payloadType is the media type of in-toto statements.
	payloadType = "application/vnd.in-toto+json"
	// statementType is the version of in-toto statements.
	statementType = "https://in-toto.io/Statement/v1"
	// PredicateType is the type of statements about results.
	PredicateType = "https://" + report.Schema
)

// statement is an in-toto statement (https://github.com/in-toto/attestation, version 1).
type statement struct {
	Type          string     `json:"_type"`
	Subject       []resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     predicate  `json:"predicate"`
}

// resource describes an artifact by its digest, as in-toto resource descriptors do.
type resource struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// predicate contains the result, and the inputs with which it was measured.
type predicate struct {
	Result    json.RawMessage `json:"result"`
	Materials []resource      `json:"materials,omitempty"`
}

// Sign returns the envelope of a result, as JSON or YAML, signed with a private key in PEM.
func Sign(ctx context.Context, text, key []byte) ([]byte, error) {
	d, err := report.Read(text)
	if err != nil {
		return nil, err
	}
	contained, computed, err := report.Digests(text)
	if err != nil {
		return nil, err
	}
	if contained != "" && contained != computed {
		return nil, fmt.Errorf("the result was changed after it was written: its content has the digest %s, and contentDigest is %s", computed, contained)
	}
	signer, err := load(key)
	if err != nil {
		return nil, err
	}
	plain, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, fmt.Errorf("decoding the result: %w", err)
	}
	s := statement{
		Type: statementType, PredicateType: PredicateType, Predicate: predicate{Result: plain, Materials: materials(d.Inputs)},
		Subject: []resource{{Name: d.Benchmark.Namespace + "/" + d.Benchmark.Name, Digest: map[string]string{"sha256": computed}}},
	}
	body, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encoding the statement: %w", err)
	}
	es, err := dsse.NewEnvelopeSigner(signer)
	if err != nil {
		return nil, fmt.Errorf("signing: %w", err)
	}
	envelope, err := es.SignPayload(ctx, payloadType, body)
	if err != nil {
		return nil, hint.With(fmt.Errorf("signing: %w", err), "sign with a private key, and verify with the public one")
	}
	out, err := json.MarshalIndent(envelope, "", "  ")
	return append(out, '\n'), err
}

func materials(inputs []v1alpha1.SnapshotSource) (all []resource) {
	for _, in := range inputs {
		all = append(all, resource{Name: string(in.Kind) + "/" + in.Name, Digest: map[string]string{"sha256": in.SHA256}})
	}
	return all
}

// IsEnvelope reports whether a text is an envelope.
func IsEnvelope(text []byte) bool {
	var e dsse.Envelope
	return json.Unmarshal(text, &e) == nil && e.PayloadType != "" && e.Payload != ""
}

// Open returns the result in an envelope, as JSON. With a public key in PEM it fails unless the
// envelope has a valid signature of that key; without one, no signature is checked.
func Open(ctx context.Context, text, key []byte) ([]byte, error) {
	var e dsse.Envelope
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, fmt.Errorf("decoding the envelope: %w", err)
	}
	if key != nil {
		verifier, err := load(key)
		if err != nil {
			return nil, err
		}
		ev, err := dsse.NewEnvelopeVerifier(verifier)
		if err != nil {
			return nil, fmt.Errorf("verifying the signature: %w", err)
		}
		_, err = ev.Verify(ctx, &e)
		if err == nil {
			err = exact(text, &e, verifier)
		}
		if err != nil {
			return nil, hint.With(fmt.Errorf("the signature is not valid: the result was changed after it was signed, or it was signed with another key: %w", err),
				"ask for the public key of the signer, and for the file as it was signed")
		}
	}
	if e.PayloadType != payloadType {
		return nil, fmt.Errorf("the envelope contains %q, and not an in-toto statement, %q", e.PayloadType, payloadType)
	}
	body, err := base64.StdEncoding.DecodeString(e.Payload)
	if err != nil {
		return nil, fmt.Errorf("decoding the payload of the envelope: %w", err)
	}
	var s statement
	if err := json.Unmarshal(body, &s); err != nil {
		return nil, fmt.Errorf("decoding the statement: %w", err)
	}
	if s.Type != statementType || s.PredicateType != PredicateType {
		return nil, fmt.Errorf("the statement is a %q with a predicate %q, and not about a result, %q", s.Type, s.PredicateType, PredicateType)
	}
	return s.Predicate.Result, s.agrees()
}

// exact refuses an envelope that differs from the signed one in anything but white space: in the
// names of members, in key IDs, or in bits that base64 does not use.
func exact(text []byte, e *dsse.Envelope, verifier dsse.Verifier) error {
	var written bytes.Buffer
	if err := json.Compact(&written, text); err != nil {
		return err
	}
	again, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if !bytes.Equal(written.Bytes(), again) {
		return errors.New("the envelope has other members than a signed one")
	}
	id, err := verifier.KeyID()
	if err != nil {
		return err
	}
	for _, s := range e.Signatures {
		if s.KeyID != "" && s.KeyID != id {
			return fmt.Errorf("the envelope names the key %q, and not %q", s.KeyID, id)
		}
		if raw, err := base64.StdEncoding.DecodeString(s.Sig); err != nil || base64.StdEncoding.EncodeToString(raw) != s.Sig {
			return errors.New("the signature is not encoded as a signed one")
		}
	}
	return nil
}

// agrees compares the statement with the result in it.
func (s *statement) agrees() error {
	_, computed, err := report.Digests(s.Predicate.Result)
	if err != nil {
		return err
	}
	if len(s.Subject) != 1 || s.Subject[0].Digest["sha256"] != computed {
		return fmt.Errorf("the statement is about another result: the content of the result in it has the SHA-256 %s", computed)
	}
	return nil
}

// load reads a key in PEM.
func load(key []byte) (dsse.SignerVerifier, error) {
	k, err := signerverifier.LoadKey(key)
	if err != nil {
		return nil, hint.With(fmt.Errorf("reading the key: %w", err), "give an Ed25519 or ECDSA key in PEM: openssl genpkey -algorithm ed25519 -out key.pem; openssl pkey -in key.pem -pubout -out pub.pem")
	}
	switch k.KeyType {
	case signerverifier.ED25519KeyType:
		return signerverifier.NewED25519SignerVerifierFromSSLibKey(k)
	case signerverifier.ECDSAKeyType:
		return signerverifier.NewECDSASignerVerifierFromSSLibKey(k)
	}
	return nil, hint.With(errors.New("the key is of type "+k.KeyType), "give an Ed25519 or ECDSA key in PEM: openssl genpkey -algorithm ed25519 -out key.pem")
}
