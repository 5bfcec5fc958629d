package stored

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Canonical is a value as canonical JSON: keys in order, no white space, numbers
// as they are.
func Canonical(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", v, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var plain any
	if err := decoder.Decode(&plain); err != nil {
		return nil, fmt.Errorf("decoding %T again: %w", v, err)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(plain); err != nil {
		return nil, fmt.Errorf("encoding %T in canonical form: %w", v, err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// Sum is the SHA-256 of data in lower-case hexadecimal.
func Sum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// PartDigest is the digest of a part: of its rows, or of its environment, as
// canonical JSON.
func PartDigest(spec *v1alpha1.BenchmarkResultSpec) (string, error) {
	var content any = spec.Rows
	if spec.Environment != nil {
		content = spec.Environment
	}
	text, err := Canonical(content)
	if err != nil {
		return "", err
	}
	return Sum(text), nil
}

// Digest is the digest of a whole result: of the digests of its parts in their
// order, each followed by a newline.
func Digest(parts []string) string {
	var all bytes.Buffer
	for _, digest := range parts {
		all.WriteString(digest + "\n")
	}
	return Sum(all.Bytes())
}
