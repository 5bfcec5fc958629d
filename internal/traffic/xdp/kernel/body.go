package kernel

import (
	"fmt"
	"slices"

	"github.com/cilium/ebpf"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// body contains the bytes of a frame other than headers and signature: a payload, and in
// custom frames the bytes in front of it.
type body struct {
	Custom  string
	Payload frame.Payload
}

// bodyOf is the body of a stream.
func bodyOf(s traffic.Stream) body {
	p := Packet(s)
	return body{string(p.Custom), p.Filling()}
}

// Bytes of the body, in a frame of any size.
func (b body) Bytes() []byte {
	var all PortBody
	b.Payload.Fill(all.Bytes[copy(all.Bytes[:], b.Custom):])
	return all.Bytes[:]
}

// Bodies contains the bodies of the streams that the engine knows, by their number; the first
// is zeros.
type Bodies []body

// bodiesMost is BODIES_MAX.
const bodiesMost = 16

// BodiesOf are the bodies of some streams.
func BodiesOf(streams []traffic.Stream) (Bodies, error) {
	all := Bodies{{}}
	for _, s := range streams {
		if b := bodyOf(s); !slices.Contains(all, b) {
			all = append(all, b)
		}
	}
	if len(all) > bodiesMost {
		return nil, fmt.Errorf("the streams have %d different payloads and custom headers: the most is %d", len(all), bodiesMost)
	}
	return all, nil
}

// Number returns the number of a stream's body.
func (b Bodies) Number(s traffic.Stream) uint8 { return uint8(slices.Index(b, bodyOf(s))) }

// Use writes the bodies into the memory of the programs, which have the first.
func (p *Programs) Use(b Bodies) error {
	for i := 1; i < len(b); i++ {
		if err := p.Bodies.Update(uint32(i), b[i].Bytes(), ebpf.UpdateAny); err != nil {
			return fmt.Errorf("writing payload %d: %w", i, err)
		}
	}
	return nil
}
