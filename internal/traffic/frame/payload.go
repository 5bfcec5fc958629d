package frame

import (
	"encoding/binary"
	"math/rand/v2"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Payload is the pattern that fills a test frame behind its signature.
type Payload string

// The patterns of payloads.
const (
	Zeros        Payload = ""
	Ones         Payload = "Ones"         // 0xff
	Alternating  Payload = "Alternating"  // 0xaa and 0x55 in turns
	Incrementing Payload = "Incrementing" // 0, 1, to 255, and again
	Random       Payload = "Random"       // pseudorandom, the same bytes in every frame
)

// PayloadOf is the pattern that a profile gives.
func PayloadOf(p v1alpha1.PayloadPattern) Payload {
	if p == v1alpha1.PayloadZeros {
		return Zeros
	}
	return Payload(p)
}

// balanceSize is the length of the word between the signature and the pattern in a frame
// with UDP. It makes their sum zero, so that the UDP checksum does not depend on how much
// payload there is: a receiver checks the headers before it knows the stream.
const balanceSize = 2

// payloadSeed makes the pseudorandom bytes the same on every machine.
const payloadSeed = 2544

// Fill writes the pattern from its beginning.
func (p Payload) Fill(b []byte) {
	random := rand.New(rand.NewPCG(payloadSeed, 0))
	for i := range b {
		switch p {
		case Ones:
			b[i] = 0xff
		case Alternating:
			b[i] = [2]byte{0xaa, 0x55}[i%2]
		case Incrementing:
			b[i] = byte(i)
		case Random:
			b[i] = byte(random.Uint32())
		default:
			b[i] = 0
		}
	}
}

// patternLeast is the minimum length of a pattern behind a balance, in bytes.
const patternLeast = 8

// known reports whether there is such a pattern.
func (p Payload) known() bool {
	switch p {
	case Zeros, Ones, Alternating, Incrementing, Random:
		return true
	}
	return false
}

// Balanced reports whether a balance stands between the signature and the pattern: in a frame
// with UDP that has room for it.
func (p Packet) Balanced() bool {
	return p.Payload != Zeros && p.Src.IsValid() && p.Size-fcsBytes-p.SignatureOffset()-SignatureSize-p.RoCE.steerBytes() >= balanceSize+patternLeast
}

// Filling is the pattern that the frame has: zeros where there is no room for another.
func (p Packet) Filling() Payload {
	if p.Src.IsValid() && !p.Balanced() {
		return Zeros
	}
	return p.Payload
}

// Balance returns the word between the signature and the pattern: the complement of the sum of the
// pattern, so that a frame has the same UDP checksum with every pattern.
func (p Packet) Balance() uint16 {
	pattern := make([]byte, p.Size-fcsBytes-p.PayloadOffset())
	p.Payload.Fill(pattern)
	return Checksum(Sum(pattern))
}

// putPayload writes what follows the signature: a balance and the pattern.
func (p Packet) putPayload(b []byte) {
	at := p.PayloadOffset()
	if p.Balanced() {
		binary.BigEndian.PutUint16(b[at-balanceSize:], p.Balance())
	}
	p.Filling().Fill(b[at:])
}
