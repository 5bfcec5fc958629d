package agent

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"google.golang.org/protobuf/proto"

	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/agent/agentpb"
	"nodrop.dev/nodrop/internal/traffic/capability"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

const (
	// streamsPerPart and loadsPerPart keep a part well below gRPC's limit of 4 MiB
	// for a message: a stream takes up to 300 bytes with two receiving ports.
	streamsPerPart = 2048
	loadsPerPart   = 16384
	// bytesPerPart bounds a part of a measurement, whose entries differ in size by
	// a factor of a thousand.
	bytesPerPart = 1 << 20
)

func infoToWire(i traffic.Info) *agentpb.InfoResponse {
	l := i.Capabilities.Limits
	w := &agentpb.InfoResponse{
		Engine: i.Engine,
		Detail: i.Detail,
		Limits: &agentpb.Limits{
			MaxStreams:     int64(l.MaxStreams),
			MaxFrameSize:   int64(l.MaxFrameSize),
			SampledLatency: l.SampledLatency,
			LatenessNanos:  int64(l.Lateness),
			LatencyType:    l.LatencyType,
			MaxMicroflows:  int64(l.MaxMicroflows),
		},
	}
	for _, h := range i.Hosts {
		w.Hosts = append(w.Hosts, &agentpb.Host{Name: h.Name, Kernel: h.Kernel, Cpu: h.CPU, Cpus: int64(h.CPUs), TesterCpus: integers[int64](h.TesterCPUs), DeviceCpus: integers[int64](h.DeviceCPUs), Together: h.Together, Clock: clockToWire(h.Clock)})
	}
	for _, p := range i.Ports {
		w.Ports = append(w.Ports, &agentpb.Port{Name: p.Name, Interface: p.Interface, Driver: p.Driver, Mac: p.MAC[:], Hypervisor: p.Hypervisor, Emulated: p.Emulated, Card: cardToWire(p.Card), Notes: p.Notes})
	}
	return w
}

func infoFromWire(w *agentpb.InfoResponse) (traffic.Info, error) {
	l := w.GetLimits()
	i := traffic.Info{
		Engine: w.GetEngine(),
		Detail: w.GetDetail(),
		Capabilities: capability.Running(w.GetEngine(), traffic.Limits{
			MaxStreams:     int(l.GetMaxStreams()),
			MaxFrameSize:   int(l.GetMaxFrameSize()),
			SampledLatency: l.GetSampledLatency(),
			Lateness:       time.Duration(l.GetLatenessNanos()),
			LatencyType:    l.GetLatencyType(),
			MaxMicroflows:  int(l.GetMaxMicroflows()),
		}),
	}
	for _, h := range w.GetHosts() {
		i.Hosts = append(i.Hosts, traffic.Host{Name: h.GetName(), Kernel: h.GetKernel(), CPU: h.GetCpu(), CPUs: int(h.GetCpus()), TesterCPUs: integers[int](h.GetTesterCpus()), DeviceCPUs: integers[int](h.GetDeviceCpus()), Together: h.GetTogether(), Clock: clockFromWire(h.GetClock())})
	}
	for _, p := range w.GetPorts() {
		mac, err := macFromWire(p.GetMac())
		if err != nil {
			return traffic.Info{}, fmt.Errorf("reading port %s: %w", p.GetName(), err)
		}
		i.Ports = append(i.Ports, traffic.PortInfo{Name: p.GetName(), Interface: p.GetInterface(), Driver: p.GetDriver(), MAC: mac, Hypervisor: p.GetHypervisor(), Emulated: p.GetEmulated(), Card: cardFromWire(p.GetCard()), Notes: p.GetNotes()})
	}
	return i, nil
}

func macFromWire(b []byte) (traffic.MAC, error) {
	var mac traffic.MAC
	if len(b) != len(mac) {
		return mac, fmt.Errorf("a hardware address has %d bytes, want 6", len(b))
	}
	copy(mac[:], b)
	return mac, nil
}

func streamToWire(s traffic.Stream) *agentpb.Stream {
	h := s.Headers
	return &agentpb.Stream{
		Id: uint32(s.ID), TxPort: s.TxPort, RxPorts: s.RxPorts, FrameSize: uint32(s.FrameSize),
		SrcMac: h.SrcMAC[:], DstMac: h.DstMAC[:],
		SrcMacCount: h.SrcMACCount, DstMacCount: h.DstMACCount,
		Vlans: vlansToWire(h.VLANs), Labels: h.Labels, Tunnel: tunnelToWire(h.Tunnel), TrafficClass: uint32(h.TrafficClass),
		SrcIp: h.SrcIP.AsSlice(), DstIp: h.DstIP.AsSlice(),
		SrcIpCount: h.SrcIPCount, DstIpCount: h.DstIPCount,
		DstIpStride: h.DstIPStride, DstIpBits: uint32(h.DstIPBits),
		SrcPort: uint32(h.SrcPort), DstPort: uint32(h.DstPort),
		SrcPortCount: h.SrcPortCount, DstPortCount: h.DstPortCount,
		Ttl: uint32(h.TTL), Payload: string(h.Payload), Custom: h.Custom, Class: s.Class, ObeysPause: s.ObeysPause,
		Track: uint32(s.Track), Roce: roceToWire(h.RoCE),
	}
}

func roceToWire(r frame.RoCE) *agentpb.RoCE {
	if !r.Given() {
		return nil
	}
	w := &agentpb.RoCE{Opcode: uint32(r.Opcode), PartitionKey: uint32(r.PartitionKey), DestinationQp: r.DestinationQP}
	if c := r.CNP; c.Answers {
		w.Cnp = &agentpb.Cnp{IntervalNanos: int64(c.Interval), TrafficClass: uint32(c.TrafficClass), QueuePair: c.QueuePair}
	}
	return w
}

func roceFromWire(w *agentpb.RoCE) frame.RoCE {
	r := frame.RoCE{Opcode: uint8(w.GetOpcode()), PartitionKey: uint16(w.GetPartitionKey()), DestinationQP: w.GetDestinationQp()}
	if c := w.GetCnp(); c != nil {
		r.CNP = frame.CNP{Answers: true, Interval: time.Duration(c.GetIntervalNanos()), TrafficClass: uint8(c.GetTrafficClass()), QueuePair: c.GetQueuePair()}
	}
	return r
}

func streamFromWire(w *agentpb.Stream) (traffic.Stream, error) {
	src, err1 := macFromWire(w.GetSrcMac())
	dst, err2 := macFromWire(w.GetDstMac())
	for _, err := range []error{err1, err2} {
		if err != nil {
			return traffic.Stream{}, fmt.Errorf("reading stream %d: %w", w.GetId(), err)
		}
	}
	// An address that was not set has no bytes, and comes back as not set.
	srcIP, _ := netip.AddrFromSlice(w.GetSrcIp())
	dstIP, _ := netip.AddrFromSlice(w.GetDstIp())
	tunnel, err := tunnelFromWire(w.GetTunnel())
	if err != nil {
		return traffic.Stream{}, fmt.Errorf("reading stream %d: %w", w.GetId(), err)
	}
	return traffic.Stream{
		ID: uint16(w.GetId()), TxPort: w.GetTxPort(), RxPorts: w.GetRxPorts(), FrameSize: int(w.GetFrameSize()), Class: w.GetClass(), ObeysPause: w.GetObeysPause(),
		Track: traffic.Track(w.GetTrack()),
		Headers: traffic.Headers{
			SrcMAC: src, DstMAC: dst,
			SrcMACCount: w.GetSrcMacCount(), DstMACCount: w.GetDstMacCount(),
			VLANs: vlansFromWire(w.GetVlans()), Labels: w.GetLabels(), Tunnel: tunnel, TrafficClass: uint8(w.GetTrafficClass()),
			SrcIP: srcIP, DstIP: dstIP,
			SrcIPCount: w.GetSrcIpCount(), DstIPCount: w.GetDstIpCount(),
			DstIPStride: w.GetDstIpStride(), DstIPBits: uint8(w.GetDstIpBits()),
			SrcPort: uint16(w.GetSrcPort()), DstPort: uint16(w.GetDstPort()),
			SrcPortCount: w.GetSrcPortCount(), DstPortCount: w.GetDstPortCount(),
			TTL: uint8(w.GetTtl()), Payload: frame.Payload(w.GetPayload()), Custom: w.GetCustom(), RoCE: roceFromWire(w.GetRoce()),
		},
	}, nil
}

func tunnelToWire(t frame.Tunnel) *agentpb.Tunnel {
	if t.Kind == "" {
		return nil
	}
	return &agentpb.Tunnel{Kind: string(t.Kind), Id: t.ID, Src: t.Src.AsSlice(), Dst: t.Dst.AsSlice(), SrcMac: t.SrcMAC[:], DstMac: t.DstMAC[:]}
}

func tunnelFromWire(w *agentpb.Tunnel) (frame.Tunnel, error) {
	if w == nil {
		return frame.Tunnel{}, nil
	}
	srcMAC, err := macFromWire(w.GetSrcMac())
	if err != nil {
		return frame.Tunnel{}, err
	}
	dstMAC, err := macFromWire(w.GetDstMac())
	if err != nil {
		return frame.Tunnel{}, err
	}
	src, _ := netip.AddrFromSlice(w.GetSrc())
	dst, _ := netip.AddrFromSlice(w.GetDst())
	return frame.Tunnel{Kind: frame.TunnelKind(w.GetKind()), ID: w.GetId(), Src: src, Dst: dst, SrcMAC: srcMAC, DstMAC: dstMAC}, nil
}

func vlansToWire(vlans frame.VLANs) []*agentpb.Vlan {
	var tags []*agentpb.Vlan
	for _, v := range vlans {
		tags = append(tags, &agentpb.Vlan{Id: uint32(v.ID), Priority: uint32(v.Priority)})
	}
	return tags
}

func vlansFromWire(tags []*agentpb.Vlan) frame.VLANs {
	var vlans frame.VLANs
	for _, w := range tags {
		vlans = append(vlans, frame.VLAN{ID: uint16(w.GetId()), Priority: uint8(w.GetPriority())})
	}
	return vlans
}

func loadToWire(id uint16, l traffic.Load) *agentpb.Load {
	return &agentpb.Load{
		Stream: uint32(id), RateFrames: l.Rate.Frames, RatePerNanos: l.Rate.PerNanos, Max: l.Max, Frames: l.Frames,
		DelayNanos: int64(l.Delay),
	}
}

func loadFromWire(w *agentpb.Load) traffic.Load {
	return traffic.Load{
		Rate: traffic.Rate{Frames: w.GetRateFrames(), PerNanos: w.GetRatePerNanos()}, Max: w.GetMax(), Frames: w.GetFrames(),
		Delay: time.Duration(w.GetDelayNanos()),
	}
}

// trialToWire calls send with every part of a trial. It returns no error if the other side has
// ended the call; the call then returns the reason.
func trialToWire(trial traffic.Trial, send func(*agentpb.TrialPart) error) error {
	part := &agentpb.TrialPart{}
	for id, load := range trial.Loads {
		part.Loads = append(part.Loads, loadToWire(id, load))
		if len(part.Loads) < loadsPerPart {
			continue
		}
		if err := send(part); err != nil {
			return unlessEnded(err)
		}
		part = &agentpb.TrialPart{}
	}
	part.DurationNanos, part.Epoch = int64(trial.Duration), uint32(trial.Epoch)
	return unlessEnded(send(part))
}

// unlessEnded drops the error that the other side has ended the call.
func unlessEnded(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// trialFromWire puts the parts of a trial together.
func trialFromWire(next func() (*agentpb.TrialPart, error)) (traffic.Trial, error) {
	trial := traffic.Trial{Loads: map[uint16]traffic.Load{}}
	for {
		part, err := next()
		if errors.Is(err, io.EOF) {
			return trial, nil
		}
		if err != nil {
			return trial, err
		}
		for _, w := range part.GetLoads() {
			trial.Loads[uint16(w.GetStream())] = loadFromWire(w)
		}
		trial.Duration, trial.Epoch = time.Duration(part.GetDurationNanos()), uint16(part.GetEpoch())
	}
}

// measurementToWire calls send with every part of a measurement.
func measurementToWire(m traffic.Measurement, send func(*agentpb.ReadResponse) error) error {
	part, size := &agentpb.ReadResponse{}, 0
	grown := func(entry proto.Message) error {
		size += proto.Size(entry)
		if size < bytesPerPart {
			return nil
		}
		full := part
		part, size = &agentpb.ReadResponse{}, 0
		return send(full)
	}
	for id, c := range m.Tx {
		entry := txToWire(id, c)
		part.Tx = append(part.Tx, entry)
		if err := grown(entry); err != nil {
			return err
		}
	}
	for key, c := range m.Rx {
		entry := &agentpb.RxCount{
			Stream: uint32(key.Stream), Port: key.Port,
			Received: c.Received, Duplicate: c.Duplicate, Reordered: c.Reordered,
			OutOfSequence: c.OutOfSequence, Congested: c.Congested, Notified: c.Notified, Late: c.Late, Next: c.Next, GapEnd: c.GapEnd,
			FirstNs: c.FirstNs, LastNs: c.LastNs, SilentFromNs: c.SilentFromNs, SilentToNs: c.SilentToNs,
			Latency: latencyToWire(c.Latency), Order: orderToWire(c.Order),
		}
		part.Rx = append(part.Rx, entry)
		if err := grown(entry); err != nil {
			return err
		}
	}
	part.TxTimeNanos, part.Misdelivered, part.Dropped, part.Stale = int64(m.TxTime), m.Misdelivered, m.Dropped, m.Stale
	part.Unsent, part.WireErrors, part.Began, part.Notifications = m.Unsent, m.WireErrors, m.Began, m.Notifications
	for port, d := range m.Damaged {
		traffic.Put(&part.Damaged, port, &agentpb.Damage{Truncated: d.Truncated, Corrupted: d.Corrupted, Fragmented: d.Fragmented})
	}
	for port, p := range m.Pacing {
		traffic.Put(&part.Pacing, port, &agentpb.Pacing{MaxLagNanos: int64(p.MaxLag), MaxBurst: p.MaxBurst, CaughtUp: p.CaughtUp, MaxClump: p.MaxClump, SpacingErrorNanos: int64(p.SpacingError)})
	}
	for port, c := range m.Pauses {
		traffic.Put(&part.Pauses, port, &agentpb.PauseCount{Frames: c.Frames, ByPriority: c.ByPriority[:]})
	}
	for _, n := range m.Notes {
		part.Notes = append(part.Notes, &agentpb.Note{Kind: string(n.Kind), Text: n.Text})
	}
	return send(part)
}

func txToWire(id uint16, c traffic.TxCount) *agentpb.TxCount {
	return &agentpb.TxCount{Stream: uint32(id), Intended: c.Intended, Sent: c.Sent, Ahead: c.Ahead, DurationNanos: int64(c.Duration)}
}

func txFromWire(w *agentpb.TxCount) traffic.TxCount {
	return traffic.TxCount{Intended: w.GetIntended(), Sent: w.GetSent(), Ahead: w.GetAhead(), Duration: time.Duration(w.GetDurationNanos())}
}

// addPart adds a part that came over the wire to a measurement.
func addPart(m *traffic.Measurement, w *agentpb.ReadResponse) {
	for _, c := range w.GetTx() {
		m.Tx[uint16(c.GetStream())] = txFromWire(c)
	}
	for _, c := range w.GetRx() {
		m.Rx[traffic.RxKey{Stream: uint16(c.GetStream()), Port: c.GetPort()}] = traffic.RxCount{
			Received: c.GetReceived(), Duplicate: c.GetDuplicate(), Reordered: c.GetReordered(),
			OutOfSequence: c.GetOutOfSequence(), Congested: c.GetCongested(), Notified: c.GetNotified(), Late: c.GetLate(), Next: c.GetNext(), GapEnd: c.GetGapEnd(),
			FirstNs: c.GetFirstNs(), LastNs: c.GetLastNs(), SilentFromNs: c.GetSilentFromNs(), SilentToNs: c.GetSilentToNs(),
			Latency: latencyFromWire(c.GetLatency()), Order: orderFromWire(c.GetOrder()),
		}
	}
	m.TxTime = max(m.TxTime, time.Duration(w.GetTxTimeNanos()))
	if len(w.GetMisdelivered()) > 0 {
		m.Misdelivered = w.GetMisdelivered() // The last part has them all.
	}
	if len(w.GetStale()) > 0 {
		m.Stale = w.GetStale()
	}
	for port, d := range w.GetDamaged() {
		traffic.Put(&m.Damaged, port, traffic.Damage{Truncated: d.GetTruncated(), Corrupted: d.GetCorrupted(), Fragmented: d.GetFragmented()})
	}
	if len(w.GetDropped()) > 0 {
		m.Dropped = w.GetDropped() // The last part has them all.
	}
	if len(w.GetUnsent()) > 0 {
		m.Unsent = w.GetUnsent()
	}
	if len(w.GetWireErrors()) > 0 {
		m.WireErrors = w.GetWireErrors()
	}
	if len(w.GetBegan()) > 0 {
		m.Began = w.GetBegan()
	}
	for port, p := range w.GetPacing() {
		traffic.Put(&m.Pacing, port, traffic.Pacing{MaxLag: time.Duration(p.GetMaxLagNanos()), MaxBurst: p.GetMaxBurst(), CaughtUp: p.GetCaughtUp(), MaxClump: p.GetMaxClump(), SpacingError: time.Duration(p.GetSpacingErrorNanos())})
	}
	if len(w.GetNotifications()) > 0 {
		m.Notifications = w.GetNotifications()
	}
	for port, p := range w.GetPauses() {
		c := traffic.PauseCount{Frames: p.GetFrames()}
		copy(c.ByPriority[:], p.GetByPriority())
		traffic.Put(&m.Pauses, port, c)
	}
	for _, n := range w.GetNotes() {
		m.Notes = append(m.Notes, traffic.Note{Kind: traffic.NoteKind(n.GetKind()), Text: n.GetText()})
	}
}

func orderToWire(o traffic.Order) *agentpb.Order {
	if o.ExtentMax == 0 {
		return nil
	}
	return &agentpb.Order{
		ExtentMax: o.ExtentMax, DegreeMax: o.DegreeMax, LateMaxNs: o.LateMaxNs, Beyond: o.Beyond,
		Gaps: o.Gaps, GapSum: o.GapSum, GapMin: o.GapMin,
		Extents: o.Extents, Degrees: o.Degrees,
	}
}

func orderFromWire(w *agentpb.Order) traffic.Order {
	return traffic.Order{
		ExtentMax: w.GetExtentMax(), DegreeMax: w.GetDegreeMax(), LateMaxNs: w.GetLateMaxNs(), Beyond: w.GetBeyond(),
		Gaps: w.GetGaps(), GapSum: w.GetGapSum(), GapMin: w.GetGapMin(),
		Extents: w.GetExtents(), Degrees: w.GetDegrees(),
	}
}

// integers are the same numbers in another type; nil for none.
func integers[To, From int | int64](all []From) (to []To) {
	for _, n := range all {
		to = append(to, To(n))
	}
	return to
}

func latencyToWire(l traffic.Latency) *agentpb.Latency {
	if l.Count == 0 && l.JitterCount == 0 && len(l.Buckets) == 0 {
		return nil
	}
	w := &agentpb.Latency{
		Count: l.Count, MinNs: l.MinNs, MaxNs: l.MaxNs, SumNs: l.SumNs,
		JitterCount: l.JitterCount, JitterMaxNs: l.JitterMaxNs, JitterSumNs: l.JitterSumNs,
		BucketIndex:  make([]uint32, 0, len(l.Buckets)),
		BucketFrames: make([]uint64, 0, len(l.Buckets)),
	}
	for index, frames := range l.Buckets {
		w.BucketIndex = append(w.BucketIndex, index)
		w.BucketFrames = append(w.BucketFrames, frames)
	}
	return w
}

func latencyFromWire(w *agentpb.Latency) traffic.Latency {
	l := traffic.Latency{
		Count: w.GetCount(), MinNs: w.GetMinNs(), MaxNs: w.GetMaxNs(), SumNs: w.GetSumNs(),
		JitterCount: w.GetJitterCount(), JitterMaxNs: w.GetJitterMaxNs(), JitterSumNs: w.GetJitterSumNs(),
	}
	if n := min(len(w.GetBucketIndex()), len(w.GetBucketFrames())); n > 0 {
		l.Buckets = make(map[uint32]uint64, n)
		for i, index := range w.GetBucketIndex()[:n] {
			l.Buckets[index] = w.GetBucketFrames()[i]
		}
	}
	return l
}

func clockToWire(c *traffic.ClockDiscipline) *agentpb.ClockDiscipline {
	if c == nil {
		return nil
	}
	return &agentpb.ClockDiscipline{AdjustmentPpb: c.AdjustmentPPB, Synchronized: c.Synchronized, MaxErrorNs: int64(c.MaxError)}
}

func clockFromWire(c *agentpb.ClockDiscipline) *traffic.ClockDiscipline {
	if c == nil {
		return nil
	}
	return &traffic.ClockDiscipline{AdjustmentPPB: c.GetAdjustmentPpb(), Synchronized: c.GetSynchronized(), MaxError: time.Duration(c.GetMaxErrorNs())}
}
