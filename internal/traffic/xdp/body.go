package xdp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf"

	"nodrop.dev/nodrop/internal/frame"
	"nodrop.dev/nodrop/internal/traffic"
)

// bodies are the payloads of the streams that the engine knows; the first is zeros. A
// stream has the number of its body.
type bodies []frame.Payload

// bodiesOf are the bodies of some streams.
func bodiesOf(streams []traffic.Stream) (bodies, error) {
	all := bodies{frame.Zeros}
	for _, s := range streams {
		if p := s.Headers.Payload; !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	if len(all) > bodiesMost {
		return nil, fmt.Errorf("the streams have %d different payloads: the most is %d", len(all), bodiesMost)
	}
	return all, nil
}

// bodiesMost is BODIES_MAX.
const bodiesMost = 16

// number is that of a stream's body.
func (b bodies) number(s traffic.Stream) uint8 { return uint8(slices.Index(b, packet(s).Filling())) }

// bytes of a body.
func (b bodies) bytes(number uint8) []byte {
	var body portBody
	b[number].Fill(body.Bytes[:])
	return body.Bytes[:]
}

// use gives the bodies to the programs.
func (p *programs) use(b bodies) error {
	for i := 1; i < len(b); i++ { // zeros are there
		if err := p.Bodies.Update(uint32(i), b.bytes(uint8(i)), ebpf.UpdateAny); err != nil {
			return fmt.Errorf("writing payload %s: %w", strings.ToLower(string(b[i])), err)
		}
	}
	return nil
}
