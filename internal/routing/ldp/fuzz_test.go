package ldp

import (
	"bufio"
	"bytes"
	"net/netip"
	"testing"
	"time"
)

// FuzzMessages holds the reader and the table to never crashing, and a table to having no
// more labels than came. Run it with: go test -fuzz FuzzMessages ./internal/routing/ldp
func FuzzMessages(f *testing.F) {
	lsr := netip.MustParseAddr("198.18.1.2")
	w := &writer{lsr: lsr, limit: maxPDU}
	for _, b := range [][]byte{
		w.hello(helloHold, lsr), w.initialization(30, lsr, 0), w.keepAlive(), w.address(lsr), w.notification(statusShutdown, 1, typeMapping),
	} {
		f.Add(b)
	}
	for _, kind := range []uint16{typeMapping, typeWithdraw} {
		if err := w.pack(kind, labels(set("198.18.0.0/24", 3)), func(c chunk) error {
			f.Add(bytes.Clone(c.bytes))
			return nil
		}); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		heard(b, lsr, time.Unix(0, 0))
		table := newTable(map[uint64]uint32{})
		r, buffer := bufio.NewReader(bytes.NewReader(b)), make([]byte, lengthEnd+maxPDU)
		for {
			p, err := readPDU(r, buffer)
			if err != nil {
				if ended(err).text == "" {
					t.Error("a failure without a cause")
				}
				return
			}
			for _, m := range p.messages {
				_, _ = parseInitialization(m)
				_, _ = parseStatus(m)
				binding, err := parseBinding(m)
				if err != nil || binding.unknown {
					continue
				}
				switch m.kind {
				case typeWithdraw:
					table.withdrawn(binding)
				case typeMapping:
					table.mapped(binding)
				}
				if table.Routes > table.Updates || table.Routes != uint64(len(table.labels)) || table.Routes == 0 && table.Digest != 0 {
					t.Errorf("%+v with %d labels", table.Learnt, len(table.labels))
				}
			}
		}
	})
}
