// Package canonical writes values as JSON in one form only, so that equal values have
// equal digests.
package canonical

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// JSON is a value as canonical JSON: keys in order, no white space, numbers as they are.
func JSON(v any) ([]byte, error) {
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

// Digest is the SHA-256 of a value as canonical JSON.
func Digest(v any) (string, error) {
	text, err := JSON(v)
	if err != nil {
		return "", err
	}
	return Sum(text), nil
}
