package method

import "nodrop.dev/nodrop/api/v1alpha1"

// maxMemoryBlocks is the maximum number of blocks whose memory a row contains.
const maxMemoryBlocks = 64

// routeMemory reads the memory of the device's routing software in the course of a test.
type routeMemory struct {
	reader MemoryReader
	sum    v1alpha1.RouteMemorySummary
	blocks int32
}

// startMemory reads the memory before the first route; nil where it cannot be read.
func (l *Lab) startMemory() *routeMemory {
	reader, can := l.router.(MemoryReader)
	if !can {
		return nil
	}
	idle, known := reader.Memory()
	if !known {
		return nil
	}
	return &routeMemory{reader: reader, sum: v1alpha1.RouteMemorySummary{IdleBytes: idle, BlocksEach: 1}}
}

// block reads the memory after a block that was held, with so many routes in all.
func (m *routeMemory) block(routes int64) {
	if m == nil {
		return
	}
	held, known := m.reader.Memory()
	if !known {
		return
	}
	s := &m.sum
	s.HeldBytes, s.BytesPerRoute = held, max(0, held-s.IdleBytes)/max(1, routes)
	if m.blocks++; m.blocks%s.BlocksEach != 0 {
		return
	}
	if len(s.Blocks) == maxMemoryBlocks {
		for i := range maxMemoryBlocks / 2 {
			s.Blocks[i] = s.Blocks[2*i+1]
		}
		s.Blocks, s.BlocksEach = s.Blocks[:maxMemoryBlocks/2], 2*s.BlocksEach
		if m.blocks%s.BlocksEach != 0 {
			return
		}
	}
	s.Blocks = append(s.Blocks, held)
}

// summary reads the memory at the end of the test; nil where it could not be read.
func (m *routeMemory) summary() *v1alpha1.RouteMemorySummary {
	if m == nil {
		return nil
	}
	if end, known := m.reader.Memory(); known {
		m.sum.EndBytes = &end
	}
	return &m.sum
}
