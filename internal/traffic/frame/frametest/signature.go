// Package frametest reads the signatures of test frames, for tests of what is sent. It shares
// no code with package frame, whose tests use it, too.
package frametest

import "encoding/binary"

// The first two bytes of a signature, and its length.
const (
	magic = 0xd50f
	size  = 18
)

// Signature contains the fields of a signature, as frame.Signature has them.
type Signature struct {
	Epoch, Stream   uint16
	Sequence, Nanos uint64
}

// ParseSignature reads the signature at the beginning of b, and reports whether there
// is one.
func ParseSignature(b []byte) (Signature, bool) {
	if len(b) < size || binary.BigEndian.Uint16(b) != magic {
		return Signature{}, false
	}
	mark := binary.BigEndian.Uint64(b[6:])
	return Signature{
		Epoch:    binary.BigEndian.Uint16(b[2:]),
		Stream:   binary.BigEndian.Uint16(b[4:]),
		Sequence: mark >> 16,
		Nanos:    mark&0xffff<<32 | uint64(binary.BigEndian.Uint32(b[14:])),
	}, true
}
