package queue

import (
	"encoding/binary"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"
	"unsafe"
)

// lists identifies what a shape is made from, by the addresses of its lists. The addresses keep the lists in memory,
// so that no other list has them.
type lists struct {
	beds, pools                  *string
	limits                       *Limit
	bedCount, poolCount, ofLimit int
	reservation                  Key
	hold                         time.Duration
}

const (
	// shortList is the number of beds and limits up to which the content of lists is compared.
	shortList = 4
	// maxLists is the number of lists that are known at once.
	maxLists = 4096
)

// shapeOf returns the shape of an entry, and creates it if it does not exist. Many entries have the same long lists, so
// that these are read once.
func (q *Queue) shapeOf(e *Entry) *shape {
	if len(e.Beds)+len(e.Limits) <= shortList {
		return q.shapeLike(e)
	}
	of := lists{
		beds: unsafe.SliceData(e.Beds), pools: unsafe.SliceData(e.Pools), limits: unsafe.SliceData(e.Limits),
		bedCount: len(e.Beds), poolCount: len(e.Pools), ofLimit: len(e.Limits), reservation: e.Reservation, hold: e.Hold,
	}
	if s := q.lists[of]; s != nil {
		return s
	}
	if len(q.lists) >= maxLists {
		clear(q.lists)
	}
	s := q.shapeLike(e)
	q.lists[of] = s
	return s
}

// shapeLike returns the shape of an entry by the content of its lists.
func (q *Queue) shapeLike(e *Entry) *shape {
	beds := e.Beds
	if !ascends(beds) {
		beds = slices.Compact(slices.Sorted(slices.Values(beds)))
	}
	hash := hashOf(e, beds)
	for _, s := range q.byHash[hash] {
		if s.hold == e.Hold && s.reservation == e.Reservation && slices.Equal(s.beds, beds) && slices.Equal(s.limits, e.Limits) && slices.Equal(s.pools, e.Pools) {
			return s
		}
	}
	s := &shape{hash: hash, beds: beds, pools: e.Pools, poolsName: strings.Join(e.Pools, "\n"), limits: e.Limits, reservation: e.Reservation, hold: e.Hold}
	if len(s.limits) > 0 {
		s.limitsOn = map[string][]int{}
		for i, l := range s.limits {
			s.limitsOn[l.Bed] = append(s.limitsOn[l.Bed], i)
			if l.Bed = ""; !slices.Contains(s.bounds, l) {
				s.bounds = append(s.bounds, l)
			}
		}
	}
	q.addShape(s)
	return s
}

// ascends reports whether names are sorted, and each of them is there once.
func ascends(names []string) bool {
	for i := 1; i < len(names); i++ {
		if names[i-1] >= names[i] {
			return false
		}
	}
	return true
}

var seed = maphash.MakeSeed()

// hashOf returns a hash of what makes a shape.
func hashOf(e *Entry, beds []string) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	number := func(n int) {
		var bytes [8]byte
		binary.LittleEndian.PutUint64(bytes[:], uint64(n))
		_, _ = h.Write(bytes[:])
	}
	text := func(t string) {
		number(len(t))
		_, _ = h.WriteString(t)
	}
	for _, bed := range beds {
		text(bed)
	}
	number(len(beds))
	for i := range e.Limits {
		text(e.Limits[i].Bed)
		text(e.Limits[i].Key)
		number(e.Limits[i].Max)
	}
	number(len(e.Limits))
	for _, pool := range e.Pools {
		text(pool)
	}
	text(e.Reservation.Namespace)
	text(e.Reservation.Name)
	number(int(e.Hold))
	return h.Sum64()
}

func (q *Queue) addShape(s *shape) {
	q.shapes[s] = true
	q.byHash[s.hash] = append(q.byHash[s.hash], s)
	if q.byBed != nil {
		q.index(s)
	}
}

// removeShape removes a shape that no group has.
func (q *Queue) removeShape(s *shape) {
	delete(q.shapes, s)
	maps.DeleteFunc(q.lists, func(_ lists, of *shape) bool { return of == s })
	same := q.byHash[s.hash]
	if i := slices.Index(same, s); len(same) > 1 {
		q.byHash[s.hash] = slices.Delete(same, i, i+1)
	} else {
		delete(q.byHash, s.hash)
	}
	if q.byBed == nil {
		return
	}
	for _, bed := range s.beds {
		all := q.byBed[bed]
		i, last := slices.Index(all, s), len(all)-1
		all[i], all[last] = all[last], nil
		if q.byBed[bed] = all[:last]; last == 0 {
			delete(q.byBed, bed)
		}
	}
}

func (q *Queue) index(s *shape) {
	for _, bed := range s.beds {
		q.byBed[bed] = append(q.byBed[bed], s)
	}
}

// shapesOf returns the shapes that have a bed.
func (q *Queue) shapesOf(bed string) []*shape {
	if q.byBed == nil {
		q.byBed = map[string][]*shape{}
		for s := range q.shapes {
			q.index(s)
		}
	}
	return q.byBed[bed]
}

// exceeded returns the first limit that a further entry of the shape on this bed would exceed, or nil if it would exceed
// none.
func (s *shape) exceeded(bed string, running map[string]int) *Limit {
	if !s.isLimited(running) {
		return nil
	}
	first := len(s.limits)
	for _, on := range [2]string{"", bed} {
		for _, i := range s.limitsOn[on] {
			if l := &s.limits[i]; i < first && running[l.Key] >= l.Max {
				first = i
			}
		}
	}
	if first == len(s.limits) {
		return nil
	}
	return &s.limits[first]
}

// isLimited reports whether some limit is reached, on whatever bed.
func (s *shape) isLimited(running map[string]int) bool {
	return slices.ContainsFunc(s.bounds, func(l Limit) bool { return running[l.Key] >= l.Max })
}

// eachLimit calls a function with the limits that hold on a bed.
func (s *shape) eachLimit(bed string, do func(*Limit)) {
	if len(s.limits) == 0 {
		return
	}
	for _, on := range [2]string{"", bed} {
		for _, i := range s.limitsOn[on] {
			do(&s.limits[i])
		}
	}
}
