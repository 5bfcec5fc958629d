package kernelstack

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"

	"nodrop.dev/nodrop/internal/workload"
)

// content returns the number at a place of the message of a host, without the number of the repetition: no two are alike.
func content(host, place int) uint64 {
	z := uint64(host)<<40 + uint64(place) + 0x9e3779b97f4a7c15 // the finalizer of SplitMix64
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

const elementBytes = workload.ElementBytes

// element returns a number of a message.
func element(message []byte, place int) uint64 {
	return binary.LittleEndian.Uint64(message[place*elementBytes:])
}

// allocate makes the messages, the memory of transfers, and the sums that an AllReduce should have.
func (run *collective) allocate() {
	r := run.request
	exchange := r.Algorithm == workload.AllToAll
	for i, m := range run.members {
		m.message = make([]byte, r.Bytes)
		m.result = m.message
		if exchange {
			m.result = make([]byte, r.ResultBytes(i))
		}
	}
	for _, f := range run.flows {
		for _, t := range f.transfers {
			if exchange { // each part has its place
				t.landing = f.to.result[t.Target : t.Target+t.Bytes]
			} else {
				t.landing = make([]byte, t.Bytes)
			}
		}
	}
	if !exchange {
		run.wanted = make([]uint64, r.Bytes/elementBytes)
		for host := range r.Hosts {
			for place := range run.wanted {
				run.wanted[place] += content(host, place)
			}
		}
	}
}

// fill writes the messages of a repetition.
func (run *collective) fill(repetition uint64) {
	var all sync.WaitGroup
	for host, m := range run.members {
		all.Go(func() {
			for place := range len(m.message) / elementBytes {
				binary.LittleEndian.PutUint64(m.message[place*elementBytes:], content(host, place)+repetition)
			}
			if run.request.Algorithm == workload.AllToAll {
				clear(m.result)
				k := run.request.Kept(host)
				copy(m.result[k.Target:], m.message[k.Source:k.Source+k.Bytes])
			}
		})
	}
	all.Wait()
}

// land adds a part to the result of the receiver, or replaces it.
func (t *transfer) land(result []byte) {
	own := result[t.Target : t.Target+t.Bytes]
	switch {
	case t.Add:
		for at := 0; at < len(own); at += elementBytes {
			binary.LittleEndian.PutUint64(own[at:], binary.LittleEndian.Uint64(own[at:])+binary.LittleEndian.Uint64(t.landing[at:]))
		}
	case &own[0] != &t.landing[0]:
		copy(own, t.landing)
	}
}

// check compares the results of all hosts with the expected ones.
func (run *collective) check(repetition uint64, out *workload.Collective) {
	var all sync.WaitGroup
	var wrong atomic.Int64
	texts := make([]string, len(run.members))
	for host, m := range run.members {
		all.Go(func() {
			place, want, wanted := run.wrongAt(host, repetition)
			if wanted {
				return
			}
			wrong.Add(1)
			texts[host] = fmt.Sprintf("host %d on port %s has %#x at place %d of its result in repetition %d, and %#x is expected", host+1, m.port, element(m.result, place), place, repetition+1, want)
		})
	}
	all.Wait()
	out.Wrong += wrong.Load()
	for _, text := range texts {
		if out.Example == "" {
			out.Example = text
		}
	}
}

// wrongAt returns the first place of the result of a host that is not as expected; ok if there is none.
func (run *collective) wrongAt(host int, repetition uint64) (place int, want uint64, ok bool) {
	r, result := run.request, run.members[host].result
	if r.Algorithm != workload.AllToAll {
		for place, sum := range run.wanted {
			if want := sum + repetition*uint64(r.Hosts); element(result, place) != want {
				return place, want, false
			}
		}
		return 0, 0, true
	}
	own := r.Kept(host)
	each := int(own.Bytes / elementBytes)
	for place := range each * r.Hosts {
		if want := content(place/each, int(own.Source/elementBytes)+place%each) + repetition; element(result, place) != want {
			return place, want, false
		}
	}
	return 0, 0, true
}
