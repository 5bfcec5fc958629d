package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	provenance "github.com/in-toto/attestation/go/predicates/provenance/v1"
	statement "github.com/in-toto/attestation/go/v1"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"github.com/secure-systems-lab/go-securesystemslib/signerverifier"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const (
	predicateType = "https://slsa.dev/provenance/v1"
	payloadType   = "application/vnd.in-toto+json"
	buildType     = "https://nodrop.dev/release/v1"
	// keyEnv is the variable with the file of the private key.
	keyEnv = "NODROP_RELEASE_KEY"
	// builderEnv is the variable with the URI of the machine that builds.
	builderEnv     = "NODROP_RELEASE_BUILDER"
	defaultBuilder = "https://nodrop.dev/release/local"
)

func provenanceCommand(flags *flag.FlagSet) run {
	out := flags.String("o", "", "`file` to write")
	version := flags.String("version", "", "`version` of the release")
	commit := flags.String("commit", "", "`commit` of the release")
	repository := flags.String("repository", "", "`URL` of the repository")
	return func(args []string) error {
		checksums, err := one(args)
		if err != nil {
			return err
		}
		text, err := newProvenance(checksums, *version, *commit, *repository)
		if err != nil {
			return err
		}
		if file := os.Getenv(keyEnv); file != "" {
			if text, err = sign(text, file); err != nil {
				return err
			}
		}
		return os.WriteFile(*out, append(text, '\n'), 0o644)
	}
}

// newProvenance returns an in-toto statement with the provenance (SLSA 1.0) of the artifacts in a file of checksums.
func newProvenance(checksums, version, commit, repository string) ([]byte, error) {
	subjects, err := subjectsOf(checksums)
	if err != nil {
		return nil, err
	}
	at, err := commitTime()
	if err != nil {
		return nil, err
	}
	parameters, err := structpb.NewStruct(map[string]any{"version": version, "command": "make release"})
	if err != nil {
		return nil, err
	}
	builder := os.Getenv(builderEnv)
	if builder == "" {
		builder = defaultBuilder
	}
	predicate := &provenance.Provenance{
		BuildDefinition: &provenance.BuildDefinition{
			BuildType: buildType, ExternalParameters: parameters,
			ResolvedDependencies: []*statement.ResourceDescriptor{{Uri: repository, Digest: map[string]string{"gitCommit": commit}}},
		},
		// The time of the commit: equal inputs make equal statements.
		RunDetails: &provenance.RunDetails{Builder: &provenance.Builder{Id: builder}, Metadata: &provenance.BuildMetadata{StartedOn: timestamppb.New(at)}},
	}
	if err := predicate.Validate(); err != nil {
		return nil, fmt.Errorf("the provenance: %w", err)
	}
	encoded, err := protojson.Marshal(predicate)
	if err != nil {
		return nil, err
	}
	content := &structpb.Struct{}
	if err := protojson.Unmarshal(encoded, content); err != nil {
		return nil, err
	}
	s := &statement.Statement{Type: statement.StatementTypeUri, Subject: subjects, PredicateType: predicateType, Predicate: content}
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("the statement: %w", err)
	}
	if encoded, err = protojson.Marshal(s); err != nil {
		return nil, err
	}
	// The library varies white space on purpose.
	var text bytes.Buffer
	if err := json.Compact(&text, encoded); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// subjectsOf returns the artifacts in a file of checksums, as sha256sum writes it.
func subjectsOf(file string) ([]*statement.ResourceDescriptor, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var all []*statement.ResourceDescriptor
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		digest, name, found := strings.Cut(lines.Text(), "  ")
		if !found {
			return nil, fmt.Errorf("%s: the line %q is not a checksum and a name", file, lines.Text())
		}
		all = append(all, &statement.ResourceDescriptor{Name: name, Digest: map[string]string{"sha256": digest}})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no checksums", file)
	}
	return all, nil
}

// sign returns the DSSE envelope of a statement, signed with the private key in a file.
func sign(text []byte, file string) ([]byte, error) {
	signer, err := signerOf(file)
	if err != nil {
		return nil, fmt.Errorf("%s=%s: %w: give an Ed25519 or ECDSA key in PEM", keyEnv, file, err)
	}
	envelopes, err := dsse.NewEnvelopeSigner(signer)
	if err != nil {
		return nil, err
	}
	envelope, err := envelopes.SignPayload(context.Background(), payloadType, text)
	if err != nil {
		return nil, fmt.Errorf("signing the provenance: %w", err)
	}
	return json.Marshal(envelope)
}

func signerOf(file string) (dsse.SignerVerifier, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	key, err := signerverifier.LoadKey(text)
	if err != nil {
		return nil, err
	}
	switch key.KeyType {
	case signerverifier.ED25519KeyType:
		return signerverifier.NewED25519SignerVerifierFromSSLibKey(key)
	case signerverifier.ECDSAKeyType:
		return signerverifier.NewECDSASignerVerifierFromSSLibKey(key)
	}
	return nil, errors.New("the key is of type " + key.KeyType)
}
