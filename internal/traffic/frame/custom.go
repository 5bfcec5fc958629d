package frame

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"

	"nodrop.dev/nodrop/api/v1alpha1"
)

const (
	// MaxCustom is the most custom bytes of a frame.
	MaxCustom = 1500
	// customSignature is the size of the signature at the end of a custom frame, in bytes.
	customSignature = SignatureSize + EthernetCheckSize

	etherTypeBytes = 2
)

// CustomBytes returns the bytes that a profile gives. Its errors describe what to do.
func CustomBytes(c v1alpha1.CustomPacket) ([]byte, error) {
	digits := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, c.Hex)
	b, err := hex.DecodeString(digits)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: write every byte as two hexadecimal digits", err)
	case len(b) < etherTypeBytes || len(b) > MaxCustom:
		return nil, fmt.Errorf("%d bytes: give %d to %d, from the EtherType on", len(b), etherTypeBytes, MaxCustom)
	}
	return b, nil
}

// CustomFamily returns the version, 4 or 6, of the IP packet with which custom bytes begin,
// behind tags; 0 for no IP packet.
func CustomFamily(custom []byte) int {
	for len(custom) >= tagBytes+etherTypeBytes && isTag(binary.BigEndian.Uint16(custom)) {
		custom = custom[tagBytes:]
	}
	if len(custom) < etherTypeBytes {
		return 0
	}
	switch binary.BigEndian.Uint16(custom) {
	case etherIPv4:
		return 4
	case etherIPv6:
		return 6
	}
	return 0
}

// putCustom writes a custom frame: its bytes, the payload, and the signature at its end.
func (p Packet) putCustom(b []byte, sig Signature) {
	copy(b, p.DstMAC[:])
	copy(b[6:], p.SrcMAC[:])
	copy(b[tagsAt:], append(p.VLANs.append(nil), p.Custom...))
	end := b[p.SignatureOffset():]
	p.Payload.Fill(b[p.PayloadOffset():p.SignatureOffset()])
	sig.Put(end)
	binary.BigEndian.PutUint16(end[SignatureSize:], Checksum(Sum(end[:SignatureSize])))
}

// checkCustom returns an error if custom bytes cannot be sent with the rest of the packet.
func (p Packet) checkCustom() error {
	switch {
	case p.Custom == nil:
		return nil
	case len(p.Custom) < etherTypeBytes || len(p.Custom) > MaxCustom:
		return fmt.Errorf("%d custom bytes: want %d to %d", len(p.Custom), etherTypeBytes, MaxCustom)
	case p.Src.IsValid() || p.Tunnel.Kind != "" || len(p.Labels) > 0:
		return fmt.Errorf("custom bytes with other headers: want one of them")
	}
	return nil
}
