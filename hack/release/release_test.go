package main

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
)

// files writes licenses and an SBOM of this test program, and returns their places.
func files(t *testing.T) (binary, licenses, sbom string) {
	t.Helper()
	binary, err := os.Executable()
	must(t, err)
	t.Setenv("NODROP_RELEASE_TIME", "2026-11-29T10:00:00Z")
	folder := t.TempDir()
	licenses, sbom = filepath.Join(folder, "licenses"), filepath.Join(folder, "sbom.json")
	must(t, command(licensesCommand, "-o", licenses, binary))
	must(t, writeSBOM(sbom, licenses, binary))
	return binary, licenses, sbom
}

func writeSBOM(out, licenses, binary string) error {
	return command(sbomCommand, "-o", out, "-licenses", licenses, "-version", "v1.2.3", binary)
}

func TestLicensesAndSBOMAreComplete(t *testing.T) {
	binary, licenses, sbom := files(t)
	must(t, command(verifyCommand, "-licenses", licenses, "-sbom", sbom, binary))

	again := filepath.Join(t.TempDir(), "again.json")
	must(t, writeSBOM(again, licenses, binary))
	if text(t, sbom) != text(t, again) {
		t.Error("two documents of one binary differ")
	}
	for name, tc := range map[string]struct {
		change func()
		want   string
	}{
		"no text":    {func() { removeAll(t, filepath.Join(licenses, "github.com+google+licensecheck+*")) }, "no license text of github.com/google/licensecheck"},
		"no package": {func() { replace(t, sbom, `"name": "github.com/google/licensecheck"`, `"name": "example.com/other"`) }, "does not have github.com/google/licensecheck@"},
		"no line": {func() {
			replace(t, filepath.Join(licenses, index), "github.com/spdx/tools-golang,", "example.com/other,")
		}, "no license of github.com/spdx/tools-golang@"},
	} {
		tc.change()
		if err := command(verifyCommand, "-licenses", licenses, "-sbom", sbom, binary); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}

func TestSignedProvenance(t *testing.T) {
	folder := t.TempDir()
	checksums, out, key := filepath.Join(folder, "checksums.txt"), filepath.Join(folder, "provenance.json"), filepath.Join(folder, "key.pem")
	must(t, os.WriteFile(checksums, []byte(strings.Repeat("ab", 32)+"  nodrop.tar.gz\n"), 0o600))
	t.Setenv("NODROP_RELEASE_TIME", "2026-11-29T10:00:00Z")
	arguments := []string{"-o", out, "-version", "v1.2.3", "-commit", strings.Repeat("0a", 20), "-repository", "https://example.com/nodrop", checksums}

	must(t, command(provenanceCommand, arguments...))
	plain := text(t, out)
	for _, part := range []string{`"name":"nodrop.tar.gz"`, `"gitCommit":"` + strings.Repeat("0a", 20), `"https://slsa.dev/provenance/v1"`, `"startedOn":"2026-11-29T10:00:00Z"`} {
		if !strings.Contains(plain, part) {
			t.Errorf("the statement does not contain %s: %s", part, plain)
		}
	}

	_, private, err := ed25519.GenerateKey(nil)
	must(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	must(t, err)
	must(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), 0o600))
	t.Setenv(keyEnv, key)
	must(t, command(provenanceCommand, arguments...))
	var envelope dsse.Envelope
	must(t, json.Unmarshal([]byte(text(t, out)), &envelope))
	payload, err := envelope.DecodeB64Payload()
	must(t, err)
	if string(payload) != strings.TrimSuffix(plain, "\n") {
		t.Errorf("the envelope has another statement: %s", payload)
	}
	signer, err := signerOf(key)
	must(t, err)
	verifier, err := dsse.NewEnvelopeVerifier(signer)
	must(t, err)
	if _, err := verifier.Verify(t.Context(), &envelope); err != nil {
		t.Errorf("the signature is not valid: %v", err)
	}
	must(t, os.WriteFile(checksums, []byte("not a checksum\n"), 0o600))
	if err := command(provenanceCommand, arguments...); err == nil {
		t.Error("accepted a file without checksums")
	}
}

// Images of one program have one digest, and the archive is the same each time.
func TestEqualImages(t *testing.T) {
	binary, err := os.Executable()
	must(t, err)
	t.Setenv("NODROP_RELEASE_TIME", "2026-11-29T10:00:00Z")
	var archives []string
	for range 2 {
		out := filepath.Join(t.TempDir(), "image.tar")
		must(t, command(imageCommand, "-o", out, "-name", "localhost/nodrop:v1.2.3", "-version", "v1.2.3", "-commit", "0a11372", binary))
		archives = append(archives, text(t, out))
	}
	if archives[0] != archives[1] {
		t.Error("two archives of one program differ")
	}
	if !strings.Contains(archives[0], "org.opencontainers.image.ref.name\": \"v1.2.3") {
		t.Error("the archive does not name the image")
	}
	for name, arguments := range map[string][]string{
		"no program": {"-o", "x", "-name", "localhost/nodrop:v1"},
		"no tag":     {"-o", filepath.Join(t.TempDir(), "x"), "-name", "localhost:5000/nodrop", binary},
		"no binary":  {"-o", filepath.Join(t.TempDir(), "x"), "-name", "localhost/nodrop:v1", "/etc/passwd"},
	} {
		if err := command(imageCommand, arguments...); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
