package bgp

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"github.com/osrg/gobgp/v4/pkg/packet/bgp"
)

const millions = 2_400_000

// TestMillionsOfRoutesLearnt fills the table of a receiver of ours.
func TestMillionsOfRoutesLearnt(t *testing.T) {
	if testing.Short() {
		t.Skip("measures memory; make test-long does it")
	}
	s := tester(0)
	p := packer{session: &s, addPath: map[bgp.Family]bgp.BGPAddPathMode{}}
	o := &bgp.MarshallingOption{AddPath: map[bgp.Family]bgp.BGPAddPathMode{bgp.RF_IPv4_UC: 0, bgp.RF_IPv6_UC: 0}}
	for _, first := range []string{"16.0.0.0/24", "2a00::/48"} {
		learnt, began, before := newTable(65999), time.Now(), heap()
		if err := p.pack(set(first, millions), false, nil, func(c chunk) error {
			for reader, buffer := bytes.NewReader(c.bytes), make([]byte, maxLength); reader.Len() > 0; {
				m, err := read(reader, buffer, o)
				if err != nil {
					return err
				}
				learnt.update(m.Body.(*bgp.BGPUpdate))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		took, size := time.Since(began), heap()-before
		if learnt.Routes != millions || size > 256<<20 {
			t.Errorf("%d routes of %s take %d bytes", learnt.Routes, first, size)
		}
		t.Logf("%d routes of %s learnt in %v, %d MB", learnt.Routes, first, took, size>>20)
		runtime.KeepAlive(learnt)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
