package workload

import (
	"fmt"
	"math/bits"
	"slices"
	"time"
)

// Algorithm is a collective operation, and the order in which hosts exchange its parts.
type Algorithm string

const (
	// RingAllReduce sums the messages of all hosts in a ring: each part of a message goes around once to be summed, and once to
	// be known to all.
	RingAllReduce Algorithm = "RingAllReduce"
	// TreeAllReduce sums whole messages in a binomial tree towards the first host, which returns the sum the same way.
	TreeAllReduce Algorithm = "TreeAllReduce"
	// AllToAll sends a part of the message of each host to each other host: in step n to the n-th next one.
	AllToAll Algorithm = "AllToAll"
)

// Bounds of requests.
const (
	// MaxCollectiveHosts is the maximum number of hosts.
	MaxCollectiveHosts = 64
	// MaxCollectiveBytes bounds the messages of all hosts together. Hosts need three times as much memory.
	MaxCollectiveBytes = 1 << 30
	// ElementBytes is the size of the numbers that are summed.
	ElementBytes = 8
)

// CollectiveRequest describes a collective operation between hosts.
type CollectiveRequest struct {
	Algorithm Algorithm
	// Ports of the hosts. They take turns.
	Ports []string
	// Hosts is the number of hosts, and Bytes the size of the message of each.
	Hosts int
	Bytes int64
	// Repetitions is the number of counted operations. WarmUp is the number of operations before them that do not count.
	Repetitions, WarmUp int
	// MTU of the hosts in bytes.
	MTU int
	// CongestionControl of the connections; empty for the default of the hosts.
	CongestionControl string
}

// Transfer is a part of a message that a host sends to another one.
type Transfer struct {
	// Step in which it is sent: a host begins a step once it received everything of the step before, and everything that it
	// sent arrived.
	Step int
	// From and To are the numbers of the hosts, from 0.
	From, To int
	// Source is its offset in the message of the sender, and Target its offset in the result of the receiver.
	Source, Target, Bytes int64
	// Add lets the receiver add it to its own part. It replaces the part otherwise.
	Add bool
}

// Port returns the name of the port of a host.
func (r CollectiveRequest) Port(host int) string { return r.Ports[host%len(r.Ports)] }

// Local reports whether two hosts are on the same port: what they send to each other does not pass the device.
func (r CollectiveRequest) Local(from, to int) bool { return r.Port(from) == r.Port(to) }

// Validate reports a request that no engine can run.
func (r CollectiveRequest) Validate() error {
	least := int64(r.Hosts) * ElementBytes
	switch {
	case len(r.Ports) < 2:
		return fmt.Errorf("hosts on %d ports were asked for: give two ports or more", len(r.Ports))
	case r.Hosts < 2 || r.Hosts > MaxCollectiveHosts:
		return fmt.Errorf("%d hosts were asked for: give 2 to %d", r.Hosts, MaxCollectiveHosts)
	case r.Bytes%ElementBytes != 0 || r.Bytes < least:
		return fmt.Errorf("messages of %d bytes were asked for: give a multiple of %d, and %d or more for %d hosts", r.Bytes, ElementBytes, least, r.Hosts)
	case r.Bytes > MaxCollectiveBytes/int64(r.Hosts):
		return fmt.Errorf("messages of %d bytes for %d hosts were asked for: give %d bytes or less, or fewer hosts", r.Bytes, r.Hosts, MaxCollectiveBytes/int64(r.Hosts))
	case r.Repetitions < 1:
		return fmt.Errorf("%d repetitions were asked for: give 1 or more", r.Repetitions)
	case r.Algorithm != RingAllReduce && r.Algorithm != TreeAllReduce && r.Algorithm != AllToAll:
		return fmt.Errorf("algorithm is %q: give %s, %s or %s", r.Algorithm, RingAllReduce, TreeAllReduce, AllToAll)
	}
	return nil
}

// Steps returns the number of steps.
func (r CollectiveRequest) Steps() int {
	switch r.Algorithm {
	case RingAllReduce:
		return 2 * (r.Hosts - 1)
	case TreeAllReduce:
		return 2 * r.levels()
	default:
		return r.Hosts - 1
	}
}

// levels returns the depth of the tree.
func (r CollectiveRequest) levels() int { return bits.Len(uint(r.Hosts - 1)) }

// Schedule returns all transfers in the order of their steps.
func (r CollectiveRequest) Schedule() []Transfer {
	switch r.Algorithm {
	case RingAllReduce:
		return r.ring()
	case TreeAllReduce:
		return r.tree()
	default:
		return r.exchange()
	}
}

// part is a part of a message.
type part struct{ offset, bytes int64 }

// parts divides a message into a part for each host.
func (r CollectiveRequest) parts() (all []part) {
	offset := int64(0)
	for _, elements := range Stripe(r.Bytes/ElementBytes, r.Hosts) {
		all = append(all, part{offset, elements * ElementBytes})
		offset += elements * ElementBytes
	}
	return all
}

// ring returns the schedule of a ring. Parts are summed on their first way around.
func (r CollectiveRequest) ring() (all []Transfer) {
	parts, n := r.parts(), r.Hosts
	for step := range r.Steps() {
		for from := range n {
			p := parts[(from-step+2*n)%n]
			if step >= n-1 { // host n has the sum of part n+1
				p = parts[(from+1-(step-n+1)+n)%n]
			}
			all = append(all, Transfer{Step: step, From: from, To: (from + 1) % n, Source: p.offset, Target: p.offset, Bytes: p.bytes, Add: step < n-1})
		}
	}
	return all
}

// tree returns the schedule of a binomial tree: at level n, pairs have a distance of 2^n.
func (r CollectiveRequest) tree() (all []Transfer) {
	levels := r.levels()
	for step := range 2 * levels {
		level := min(step, 2*levels-1-step)
		for low := 0; low+1<<level < r.Hosts; low += 2 << level {
			t := Transfer{Step: step, From: low + 1<<level, To: low, Bytes: r.Bytes, Add: true}
			if step >= levels {
				t.From, t.To, t.Add = t.To, t.From, false
			}
			all = append(all, t)
		}
	}
	return all
}

// exchange returns the schedule of an AllToAll.
func (r CollectiveRequest) exchange() (all []Transfer) {
	parts := r.parts()
	received := r.received()
	for step := range r.Steps() {
		for from := range r.Hosts {
			to := (from + step + 1) % r.Hosts
			all = append(all, Transfer{Step: step, From: from, To: to, Source: parts[to].offset, Bytes: parts[to].bytes, Target: received[to] * int64(from)})
		}
	}
	return all
}

// received returns the size of the parts that each host receives in an AllToAll.
func (r CollectiveRequest) received() (all []int64) {
	for _, p := range r.parts() {
		all = append(all, p.bytes)
	}
	return all
}

// ResultBytes returns the size of the result of a host.
func (r CollectiveRequest) ResultBytes(host int) int64 {
	if r.Algorithm == AllToAll {
		return r.received()[host] * int64(r.Hosts)
	}
	return r.Bytes
}

// Kept returns the part of an AllToAll that a host keeps: it copies it to its result.
func (r CollectiveRequest) Kept(host int) Transfer {
	own := r.parts()[host]
	return Transfer{From: host, To: host, Source: own.offset, Bytes: own.bytes, Target: own.bytes * int64(host)}
}

// BusFactor returns the numerator and the denominator of the ratio of bus bandwidth and algorithm bandwidth: 2 (n-1)/n for an AllReduce,
// whatever its algorithm is, and (n-1)/n for an AllToAll, with n hosts. The definitions are in PERFORMANCE.md of nccl-tests.
func (r CollectiveRequest) BusFactor() (numerator, denominator int64) {
	if r.Algorithm == AllToAll {
		return int64(r.Hosts - 1), int64(r.Hosts)
	}
	return 2 * int64(r.Hosts-1), int64(r.Hosts)
}

// Differences describes how settings differ from a request.
func (r CollectiveRequest) Differences(s Settings) []string {
	return s.differences(r.CongestionControl, r.MTU)
}

// Collective is the result of a collective operation.
type Collective struct {
	// Completions are the times from the begin of an operation until the last host has its result, by repetition.
	Completions []time.Duration
	// Steps are the times by which each step ended later at the last host than the step before, by step and repetition. Their sum
	// is the completion.
	Steps [][]time.Duration
	// Links have the times of all pairs of hosts of the schedule.
	Links []Link
	// Probes have the times of single transfers that were sent after the operations, to tell which port of a slow link is slow.
	// They are empty without a slow link, or without other ports.
	Probes *Probes
	// Wrong is the number of results of hosts, in all repetitions, that are not the expected ones. Example describes the first
	// one.
	Wrong   int64
	Example string
	// Retransmissions is the number of segments that all hosts sent again.
	Retransmissions uint64
	// Settings that were in force.
	Settings Settings
	// Limits of the hosts over all repetitions.
	Limits Limits
}

// Link is a pair of hosts of which one sends to the other.
type Link struct {
	From, To int
	// Time is the median of its transfers: from the time at which the sender had the data and the transfer before was over, to the
	// last byte at the receiver.
	Time time.Duration
	// Retransmissions of the sender.
	Retransmissions uint64
}

// Probes are times of single transfers of equal size, without other load.
type Probes struct {
	// Into is the time to the receiver of the slow link from another host. OutOf is the time from its sender to another host.
	Into, OutOf time.Duration
	// Reference is the time between two hosts on other ports.
	Reference time.Duration
}

// SlowFactor is the ratio to the median of the others from which on a link is slow.
const SlowFactor = 2

// Slowest is the slowest link of an operation.
type Slowest struct {
	Link
	// Others is the median of the times of the other links.
	Others time.Duration
	// Slow reports whether it needs SlowFactor times as long as the others.
	Slow bool
	// Port is the name of the slow port. It is empty if no port is slow, or it is not known which.
	Port string
	// Out reports whether data that the device sends by the port is slow, and not data that it receives.
	Out bool
}

// Slowest returns the slowest link through the device. It is nil with fewer than two links.
func (r CollectiveRequest) Slowest(c Collective) *Slowest {
	links := slices.DeleteFunc(slices.Clone(c.Links), func(l Link) bool { return r.Local(l.From, l.To) })
	if len(links) < 2 {
		return nil
	}
	slices.SortStableFunc(links, func(a, b Link) int { return int(a.Time - b.Time) })
	last := len(links) - 1
	s := &Slowest{Link: links[last]}
	var others []time.Duration
	for _, l := range links[:last] {
		others = append(others, l.Time)
	}
	s.Others = Percentile(others, 50)
	s.Slow = s.Time >= SlowFactor*s.Others
	if s.Slow && c.Probes != nil {
		slow := SlowFactor * c.Probes.Reference
		switch into, outOf := c.Probes.Into >= slow, c.Probes.OutOf >= slow; {
		case into && !outOf:
			s.Port, s.Out = r.Port(s.To), true
		case outOf && !into:
			s.Port = r.Port(s.From)
		}
	}
	return s
}

// ProbePairs returns the pairs of hosts of probes for a slow link; false if the hosts have too few ports.
func (r CollectiveRequest) ProbePairs(slow Link) (into, outOf, reference [2]int, ok bool) {
	var others []int // a host for each other port
	for host := range min(r.Hosts, len(r.Ports)) {
		if !r.Local(host, slow.From) && !r.Local(host, slow.To) {
			others = append(others, host)
		}
	}
	if len(others) < 2 {
		return into, outOf, reference, false
	}
	return [2]int{others[0], slow.To}, [2]int{slow.From, others[0]}, [2]int{others[0], others[1]}, true
}
