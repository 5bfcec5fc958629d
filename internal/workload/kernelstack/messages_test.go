package kernelstack

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/workload"
)

// messagesRequest returns messages of 2 publishers in 100 groups to 4 subscribers.
func messagesRequest(rate float64) workload.MessagesRequest {
	r := workload.MessagesRequest{
		Publishers: []string{"servers", "servers"}, FirstGroup: netip.MustParseAddr("225.1.1.1"), Groups: 100, Bytes: 500,
		Rate: rate, Duration: time.Second, JoinTime: 10 * time.Second, SettleTime: 500 * time.Millisecond, MTU: 1500,
	}
	for range 4 {
		r.Subscribers, r.ReceiveBuffers = append(r.Subscribers, "client"), append(r.ReceiveBuffers, 4<<20)
	}
	return r
}

// publish runs a request.
func (b bed) publish(r workload.MessagesRequest) workload.Messages {
	b.Helper()
	m, err := b.Messages(b.Context(), r)
	if err != nil {
		b.Fatal(err)
	}
	if m.Unreached != "" {
		b.Fatal(m.Unreached)
	}
	if texts := m.Differences(r); len(texts) > 0 {
		b.Error(texts)
	}
	b.Logf("%d messages in %s, %.0f/s, late by %s, %d ports dropped, %+v", m.Sent, m.SendSpan, m.PerSecond(), m.LongestLag, m.PublisherDrops, m.Limits)
	for _, s := range m.Subscribers {
		shown := s
		shown.LostByGroup = nil
		b.Logf("%+v", shown)
		sum := int64(0)
		for _, n := range s.LostByGroup {
			sum += n
		}
		if s.Received+s.Lost != m.Sent || sum != s.Lost || len(s.LostByGroup) != r.Groups || s.P50 > s.P99 || s.P99 > s.Max || s.Received > 0 && s.P50 <= 0 {
			b.Errorf("the sums differ: %+v", s)
		}
	}
	return m
}

// TestMessages delivers all messages of 100 groups to 4 subscribers through a bridge, and loses the share above its limit: 50 Mbit/s
// are 11,531 frames of 542 bytes per second.
func TestMessages(t *testing.T) {
	b := newBed(t, 64_000, false)
	r := messagesRequest(2000)
	m := b.publish(r)
	if m.Sent != 2000 || len(m.Subscribers) != 4 || m.Lost() > 0 && m.TesterLoss() == "" && m.Uneven() == "" {
		t.Errorf("%d sent, %d lost", m.Sent, m.Lost())
	}
	for _, s := range m.Subscribers {
		if s.Duplicates > 0 || s.Reordered > 0 || s.ReceiveBuffer != 8<<20 {
			t.Errorf("%+v", s)
		}
	}
	r = messagesRequest(16_000)
	m = b.publish(r)
	if m.PerSecond() < 13_000 {
		t.Skipf("other programs keep the processors busy: %s", m.Late(r))
	}
	if m.DeviceLost() == 0 {
		t.Error("16,000 messages/s passed a device that sends 11,531/s")
	}
	for _, s := range m.Subscribers {
		if slices.Max(s.LostByGroup) == 0 {
			t.Errorf("no group of subscriber %s has a loss: %+v", s.Address, s)
		}
		most := int64(11_531*m.SendSpan.Seconds()) + (64_000+16_000)/542 + 200 // the queue and the burst are sent later
		if s.Received > most {
			t.Errorf("subscriber %s received %d messages in a second, and the device sends up to %d", s.Address, s.Received, most)
		}
	}
}

// TestSmallSocketBuffer gives one of four subscribers a small buffer: its loss is the tester's.
func TestSmallSocketBuffer(t *testing.T) {
	b := newBed(t, 16_000_000, false)
	r := messagesRequest(5000)
	r.ReceiveBuffers[2] = 1
	for range 5 {
		m := b.publish(r)
		small := m.Subscribers[2]
		if small.SocketDrops == 0 {
			continue
		}
		others := 0
		for i, s := range m.Subscribers {
			if i != 2 && s.SocketDrops > 0 {
				others++
			}
		}
		text := m.TesterLoss()
		if others > 0 || small.Lost != small.SocketDrops || m.DeviceLost() != 0 || !strings.Contains(text, "the socket of subscriber "+small.Address+" on port client dropped ") {
			t.Errorf("%q: %+v", text, small)
		}
		return
	}
	t.Error("a buffer for two datagrams never overflowed")
}

// TestNumbersShowLossOrderAndCopies counts datagrams by their numbers.
func TestNumbersShowLossOrderAndCopies(t *testing.T) {
	for name, tc := range map[string]struct {
		numbers               []uint64
		received              int64
		duplicates, reordered int
	}{
		"in order":                             {[]uint64{0, 1, 2, 3}, 4, 0, 0},
		"a loss":                               {[]uint64{0, 1, 3}, 3, 0, 0},
		"reordering":                           {[]uint64{0, 2, 3, 1}, 4, 0, 1},
		"a copy":                               {[]uint64{0, 1, 1, 2}, 3, 1, 0},
		"a late copy and a loss beyond a word": {[]uint64{0, 130, 0, 64}, 3, 1, 1},
	} {
		var s stream
		duplicates, reordered := 0, 0
		for _, n := range tc.numbers {
			fresh, late := s.add(n)
			if !fresh {
				duplicates++
			}
			if late {
				reordered++
			}
		}
		if s.received != tc.received || duplicates != tc.duplicates || reordered != tc.reordered {
			t.Errorf("%s: %d received, %d copies, %d reordered", name, s.received, duplicates, reordered)
		}
	}
}

func TestMessagesExplainWhatIsMissing(t *testing.T) {
	b := newBed(t, 16_000_000, true) // a router that forwards no multicast
	for name, tc := range map[string]struct {
		change func(*workload.MessagesRequest)
		want   string
	}{
		"a port":           {func(r *workload.MessagesRequest) { r.Publishers = []string{"p9"} }, "port p9 is not known"},
		"two ports":        {func(r *workload.MessagesRequest) { r.Publishers = []string{"client"} }, "publishers and subscribers are on port client"},
		"groups":           {func(r *workload.MessagesRequest) { r.Groups = 5000 }, "1 to 1000 are possible"},
		"a group":          {func(r *workload.MessagesRequest) { r.FirstGroup = netip.MustParseAddr("198.18.0.1") }, "are not all multicast groups"},
		"the last group":   {func(r *workload.MessagesRequest) { r.FirstGroup = netip.MustParseAddr("239.255.255.250") }, "are not all multicast groups"},
		"room":             {func(r *workload.MessagesRequest) { r.Bytes = 1473 }, "give 32 to 1472"},
		"a receive buffer": {func(r *workload.MessagesRequest) { r.ReceiveBuffers = nil }, "0 receive buffers were given for 4 subscribers"},
		"an MTU":           {func(r *workload.MessagesRequest) { r.MTU = 20_000 }, "has an MTU of 9198 bytes, and the test asks for 20000"},
	} {
		r := messagesRequest(1000)
		tc.change(&r)
		if _, err := b.Messages(t.Context(), r); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	r := messagesRequest(1000)
	r.JoinTime = time.Millisecond
	m, err := b.Messages(t.Context(), r)
	if err != nil || !strings.Contains(m.Unreached, "datagrams of 0 of 200 pairs of publishers and groups arrived") || m.Sent != 0 {
		t.Errorf("%v, %+v", err, m)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Messages(ctx, messagesRequest(1000)); err == nil {
		t.Error("cancelled messages succeeded")
	}
}

func TestLatenciesInBuckets(t *testing.T) {
	var l latencies
	for ns := range int64(1_000_000) {
		l.add(time.Duration(ns))
	}
	for percent, want := range map[int64]int64{50: 500_000, 99: 990_000, 100: 999_999} {
		if got := int64(l.percentile(percent)); got < want-1 || got > want+want/64 || got > 999_999 {
			t.Errorf("%d %%: %d, want %d", percent, got, want)
		}
	}
	for _, ns := range []uint64{0, 1, 127, 128, 129, 1 << 20, 1<<62 + 3, 1<<64 - 1} {
		i := bucketOf(ns)
		if i >= latencyBuckets || lastOf(i) < ns || i > 0 && lastOf(i-1) >= ns {
			t.Errorf("%d ns: bucket %d of %d to %d", ns, i, latencyBuckets, lastOf(i))
		}
	}
}
