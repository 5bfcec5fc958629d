package stored

import (
	"bytes"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/canonical"
)

// PartDigest is the digest of a part: of its rows, or of its environment, as
// canonical JSON.
func PartDigest(spec *v1alpha1.BenchmarkResultSpec) (string, error) {
	var content any = spec.Rows
	if spec.Environment != nil {
		content = spec.Environment
	}
	return canonical.Digest(content)
}

// Digest is the digest of a whole result: of the digests of its parts in their
// order, each followed by a newline.
func Digest(parts []string) string {
	var all bytes.Buffer
	for _, digest := range parts {
		all.WriteString(digest + "\n")
	}
	return canonical.Sum(all.Bytes())
}
