package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nodrop.dev/nodrop/internal/workload"
	"nodrop.dev/nodrop/internal/workload/tcpmodel"
)

var _ workload.Host = (*Engine)(nil)

// modelledControls are the congestion controls that the model has.
var modelledControls = []string{string(tcpmodel.Reno), string(tcpmodel.Cubic), string(tcpmodel.DCTCP)}

// applications runs workloads between modeled hosts.
type applications struct{ engine *Engine }

// Workload implements workload.Host.
func (e *Engine) Workload() workload.Engine { return applications{e} }

// Close implements workload.Engine: there is nothing to remove.
func (applications) Close() error { return nil }

// Incast implements workload.Engine. Each server has a link of its own, with the speed of its port.
func (a applications) Incast(ctx context.Context, r workload.IncastRequest) (out workload.Incast, err error) {
	p, err := a.params(r)
	if err != nil {
		return out, err
	}
	found, err := tcpmodel.Run(p)
	if err != nil {
		return out, fmt.Errorf("simulating an incast of %d servers: %w", len(r.Blocks), err)
	}
	out.Settings = workload.Settings{CongestionControl: string(p.TCP.CongestionControl), MTU: r.MTU}
	var dropped uint64
	var took time.Duration
	for _, one := range found.Iterations {
		out.Completions, out.Skews = append(out.Completions, one.Completion), append(out.Skews, one.Skew)
		dropped, took = dropped+uint64(one.DroppedPackets), took+one.Completion+p.Hosts.IterationGap
	}
	took -= p.Hosts.IterationGap // none follows the last iteration
	for _, c := range found.Connections {
		out.Connections = append(out.Connections, workload.Connection{Retransmissions: uint64(c.Retransmissions), Timeouts: uint64(c.Timeouts)})
	}
	out.ReceivedBytes, out.ReceivedPackets = uint64(found.DeliveredBytes), uint64(found.DeliveredPackets)
	dropped += uint64(found.Stateless.Dropped)
	out.DeviceDrops = &dropped
	a.engine.forwarding.crowded = crowded{port: r.Client, frames: found.Stateless, segments: workload.Segments{Sent: uint64(found.SentPackets), Received: uint64(found.DeliveredPackets)}}
	return out, a.engine.clock.Sleep(ctx, took)
}

// ConnectIncast implements workload.Engine: the model has its hosts at once.
func (a applications) ConnectIncast(_ context.Context, r workload.IncastRequest) error {
	_, err := a.params(r)
	return err
}

// DisconnectIncast implements workload.Engine.
func (a applications) DisconnectIncast(context.Context) (workload.Segments, error) {
	return a.engine.forwarding.crowded.segments, nil
}

// Connections implements workload.Engine: devices are modeled without connections, and admission refuses the test before.
func (applications) Connections(context.Context, workload.ConnectionsRequest) (out workload.Connections, err error) {
	return out, errors.New("the engine sim models no devices that keep connections: choose a bed with the engine xdp")
}

// modelledSettings returns the settings of hosts with a congestion control; the one of the model without a name.
func modelledSettings(control string, mtu int) (s workload.Settings, _ error) {
	if control == "" {
		control = string(tcpmodel.Defaults().TCP.CongestionControl)
	}
	if !slices.Contains(modelledControls, control) {
		return s, fmt.Errorf("congestionControl is %s, and the simulated hosts have %s: choose one of these", control, strings.Join(modelledControls, ", "))
	}
	return workload.Settings{CongestionControl: control, MTU: mtu}, nil
}

// nearest returns the row of the model for a frame size, or for the size next to it that the model has.
func (a applications) nearest(size int) (row, error) {
	lowest, highest := a.engine.model.Sizes()
	return a.engine.model.at(min(max(size, lowest), highest))
}

// params returns the parameters of the model.
func (a applications) params(r workload.IncastRequest) (tcpmodel.Params, error) {
	p := tcpmodel.Defaults()
	p.Seed, p.Servers, p.Iterations, p.MTUBytes = a.engine.run.handling.seed, len(r.Blocks), r.Iterations, r.MTU
	p.BlockBytes, p.Striped = int(r.Bytes()), true // equal blocks are equal parts of their sum
	p.TCP.KeepOpen = true
	settings, err := modelledSettings(r.CongestionControl, r.MTU)
	if err != nil {
		return p, err
	}
	p.TCP.CongestionControl = tcpmodel.CongestionControl(settings.CongestionControl)
	p.LinkMbps = megabits(a.engine.tester.ports[r.Client])
	for i, name := range r.Servers {
		if speed := megabits(a.engine.tester.ports[name]); i == 0 || speed < p.ServerLinkMbps {
			p.ServerLinkMbps = speed
		}
	}
	if b := a.engine.dut.behaviour.PortBuffer; b != nil {
		p.Switch.BufferBytes = int(*b)
	}
	if s := r.Stateless; s != nil {
		p.Stateless = tcpmodel.Stateless{FrameBytes: s.Bytes, PerSecond: s.PerSecond}
	}
	return p, nil
}

func megabits(p Port) float64 { return float64(p.BitsPerSecond) / 1e6 }
