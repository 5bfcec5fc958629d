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
	text, err := encoded(v)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", v, err)
	}
	s := sorter{text: text, out: make([]byte, 0, len(text))}
	if err := s.value(); err != nil {
		return nil, fmt.Errorf("encoding %T in canonical form: %w", v, err)
	}
	return s.out, nil
}

// encoded is a value as JSON without white space, in which only necessary characters are escaped.
func encoded(v any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
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
