package document

import (
	"fmt"
	"io"
)

// MaxBytes is the maximum size of a document in bytes, as it is stored and decompressed: eight times
// the 64 MiB of rows that a benchmark may have, which are estimated, and indented here.
const MaxBytes = 512 << 20

// TooLargeError means that a document was not read, since it is too large.
type TooLargeError struct {
	// What is the text that is too large, such as "decompressed document".
	What string
	// Limit in bytes.
	Limit int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the %s has more than %d MiB (%d bytes), and at most these are read: divide the tests or the variants of the benchmark among several benchmarks",
		e.What, e.Limit>>20, e.Limit)
}

// bounded fails when more bytes than its limit are read.
type bounded struct {
	r     io.Reader
	limit int64
	// what precedes the word document in the error.
	what string
	read int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.read += int64(n); b.read > b.limit {
		return 0, &TooLargeError{What: b.what + "document", Limit: b.limit}
	}
	return n, err
}
