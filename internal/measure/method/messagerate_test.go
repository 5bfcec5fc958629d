package method

import (
	"context"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/workload"
)

// Messages is refused: fakeMessages has them.
func (f *fakeWorkload) Messages(context.Context, workload.MessagesRequest) (workload.Messages, error) {
	panic("an incast sends no messages")
}

// fakeMessages is a device that forwards messages up to a rate, and a tester. Package kernelstack is tested on real sockets.
type fakeMessages struct {
	fakeWorkload
	limit  float64
	change func(*workload.Messages, workload.MessagesRequest)
	asked  []workload.MessagesRequest
}

func (f *fakeMessages) Messages(_ context.Context, r workload.MessagesRequest) (workload.Messages, error) {
	f.asked = append(f.asked, r)
	if err := r.Validate(); err != nil {
		return workload.Messages{}, err
	}
	m := workload.Messages{MTU: r.MTU, Sent: int64(r.Rate * r.Duration.Seconds()), SendSpan: r.Duration}
	for i, port := range r.Subscribers {
		lost := int64(0)
		if i == 1 && r.Rate > f.limit {
			lost = m.Sent - int64(f.limit*r.Duration.Seconds())
		}
		m.Subscribers = append(m.Subscribers, workload.Subscriber{
			Address: "198.18.1." + string(rune('1'+i)), Port: port, Received: m.Sent - lost, Lost: lost, LostByGroup: workload.Stripe(lost, r.Groups),
			ReceiveBuffer: 2 * r.ReceiveBuffers[i], P50: time.Microsecond, P99: 2 * time.Microsecond, Max: time.Duration(3+i) * time.Microsecond,
		})
	}
	if f.change != nil {
		f.change(&m, r)
	}
	return m, nil
}

// messagesRow runs a test of messages on a device.
func messagesRow(t *testing.T, fake *fakeMessages) v1alpha1.ResultRow {
	t.Helper()
	test := v1alpha1.MessageRateTest{Publishers: 2, Groups: 100, FirstGroup: "225.1.1.1", Subscribers: 4, MessageSize: 500, MinimumRate: 100, MaximumRate: 20_000, Resolution: 10, ReceiveBuffer: 4096, MTU: 1500}
	p, err := planOf(t, v1alpha1.Test{Name: "messages", MessageRate: &test})
	if err != nil {
		t.Fatal(err)
	}
	return workloadRows(t, p, fake)[0]
}

func TestMessageRate(t *testing.T) {
	drop := func(above float64, sockets bool) func(*workload.Messages, workload.MessagesRequest) {
		return func(m *workload.Messages, r workload.MessagesRequest) {
			if r.Rate > above {
				s := &m.Subscribers[2]
				s.Lost, s.Received = s.Lost+7, s.Received-7
				s.LostByGroup[0] += 7
				if sockets {
					s.SocketDrops = 7
				}
			}
		}
	}
	for name, tc := range map[string]struct {
		device       fakeMessages
		rate, failed int64
		validity     v1alpha1.Validity
		message      string
		reason       string
	}{
		"a rate": {
			device: fakeMessages{limit: 1234}, rate: 1231, failed: 1237, validity: v1alpha1.ValiditySimulated,
			message: "at 1,237 messages/s 1 of 4 subscribers lost messages, subscriber 198.18.1.2 on port p3 15 of 6,185",
		},
		"a fast device": {device: fakeMessages{limit: 1e9}, rate: 20_000, validity: v1alpha1.ValiditySimulated, message: "the device may be faster"},
		"a slow device": {device: fakeMessages{limit: 99}, failed: 100, validity: v1alpha1.ValiditySimulated, message: "messages were lost at the lowest rate of 100 messages/s: lower minimumRate"},
		"a small socket buffer": {
			device: fakeMessages{limit: 5000, change: drop(1000, true)}, rate: 800, validity: v1alpha1.ValidityGeneratorBound, message: "the tester dropped as many, and the device is not the reason",
			reason: "the socket of subscriber 198.18.1.3 on port ",
		},
		"a loss that no socket has": {device: fakeMessages{limit: 5000, change: drop(1000, false)}, rate: 1000, failed: 1006, validity: v1alpha1.ValiditySimulated, message: "1 of 4 subscribers lost messages, subscriber 198.18.1.3"},
		"slow publishers": {
			device: fakeMessages{limit: 5000, change: func(m *workload.Messages, r workload.MessagesRequest) {
				if r.Rate > 1000 {
					m.SendSpan *= 2
				}
			}}, rate: 800, validity: v1alpha1.ValidityGeneratorBound, reason: "the publishers sent 800 messages/s, and 1600 were asked for",
		},
		"bursts": {
			device: fakeMessages{limit: 1234, change: func(m *workload.Messages, _ workload.MessagesRequest) { m.LongestLag = time.Second }}, rate: 1231, failed: 1237, validity: v1alpha1.ValidityGeneratorBound,
			reason: "a publisher was late by 1s",
		},
		"a device without multicast": {
			device: fakeMessages{change: func(m *workload.Messages, _ workload.MessagesRequest) {
				*m = workload.Messages{Unreached: "subscriber 198.18.1.1 joined 100 groups"}
			}}, validity: v1alpha1.ValidityInvalid, message: "subscriber 198.18.1.1 joined 100 groups",
		},
		"another buffer": {
			device: fakeMessages{limit: 1e9, change: func(m *workload.Messages, _ workload.MessagesRequest) { m.Subscribers[3].ReceiveBuffer = 4096 }}, validity: v1alpha1.ValidityInvalid,
			message: "asked for a receive buffer of 4096 bytes, and has 2048",
		},
	} {
		t.Run(name, func(t *testing.T) {
			row := messagesRow(t, &tc.device)
			s := row.MessageRate
			if s.Rate != tc.rate || s.FailedRate != tc.failed || (s.Passed != nil) != (tc.rate > 0) || s.Trials != int32(len(tc.device.asked)) || row.Frames != nil {
				t.Errorf("%+v", s)
			}
			if row.Validity != tc.validity || !strings.Contains(row.Message, tc.message) || !strings.Contains(strings.Join(row.ValidityReasons, "; "), tc.reason) {
				t.Errorf("%s %q: %q", row.Validity, row.ValidityReasons, row.Message)
			}
			if p := s.Passed; p != nil && (p.P50Ns != 1000 || p.P99Ns != 2000 || p.MaxNs != 6000 || p.Lost != 0 || len(p.Subscribers) != 4 || len(p.Groups) != 0) {
				t.Errorf("%+v", p)
			}
			if f := s.Failed; name == "a rate" && (f.Lost != 15 || f.DeviceLost != 15 || len(f.Groups) != 15 || f.Groups[0] != (v1alpha1.GroupLoss{Group: "225.1.1.1", Lost: 1, Subscribers: 1}) || f.Subscribers[1].Lost != 15) {
				t.Errorf("%+v", f)
			}
			if r := tc.device.asked[0]; len(r.Publishers) != 2 || len(r.Subscribers) != 4 || r.Subscribers[0] == r.Publishers[0] || r.MTU != 1500 || r.Bytes != 500 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestHiccupsOfTheTesterAreRepeated finds the rate of the device although each second trial drops at a socket.
func TestHiccupsOfTheTesterAreRepeated(t *testing.T) {
	n := 0
	fake := &fakeMessages{limit: 1234, change: func(m *workload.Messages, _ workload.MessagesRequest) {
		if n++; n%2 == 1 && m.Lost() == 0 {
			m.Subscribers[0].Lost, m.Subscribers[0].SocketDrops = 3, 3
		}
	}}
	if row := messagesRow(t, fake); row.MessageRate.Rate != 1231 || row.MessageRate.FailedRate != 1237 || row.Validity != v1alpha1.ValiditySimulated {
		t.Errorf("%s %q: %+v", row.Validity, row.ValidityReasons, row.MessageRate)
	}
}

func TestBedsWithoutPlaceForMessages(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.MessageRateTest)
		want   string
	}{
		"a publisher that is no port":  {func(m *v1alpha1.MessageRateTest) { m.PublisherPort = "p99" }, `publisherPort: Unsupported value: "p99"`},
		"a subscriber that is no port": {func(m *v1alpha1.MessageRateTest) { m.SubscriberPorts = []string{"p99"} }, `subscriberPorts[0]: Unsupported value: "p99"`},
		"one port":                     {func(m *v1alpha1.MessageRateTest) { m.SubscriberPorts = []string{"p1"} }, "the publishers are on this port: give another one"},
		"groups of IPv6":               {func(m *v1alpha1.MessageRateTest) { m.FirstGroup = "ff1e::1" }, "messages are sent over IPv4: give a group such as 225.1.1.1"},
		"a small MTU":                  {func(m *v1alpha1.MessageRateTest) { m.MTU, m.MessageSize = 576, 549 }, "an mtu of 576 bytes has room for messages of 548"},
		"groups at the end":            {func(m *v1alpha1.MessageRateTest) { m.FirstGroup = "239.255.255.250" }, "100 groups from this one on leave the range of multicast"},
	} {
		test := v1alpha1.MessageRateTest{Publishers: 1, Groups: 100, FirstGroup: "225.1.1.1", Subscribers: 4, MessageSize: 500, MinimumRate: 100, MaximumRate: 1000, Resolution: 10, MTU: 1500, PublisherPort: "p1"}
		tc.change(&test)
		if _, err := planOf(t, v1alpha1.Test{Name: "messages", MessageRate: &test}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}
