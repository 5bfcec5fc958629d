package sim

import (
	"context"
	"fmt"
	"time"

	"nodrop.dev/nodrop/internal/traffic/frame"
	"nodrop.dev/nodrop/internal/workload"
)

// Bulk implements workload.Engine. Segments of full size leave at the highest rate that the slower port and the device
// forward without loss, over connections with equal parts: TCP has found this rate, and its beginning does not count.
func (a applications) Bulk(ctx context.Context, r workload.BulkRequest) (out workload.Bulk, err error) {
	if err := r.Validate(); err != nil {
		return out, err
	}
	if out.Settings, err = modelledSettings(r.CongestionControl, r.MTU); err != nil {
		return out, err
	}
	size := frame.PacketFrame(r.MTU)
	row, err := a.nearest(size)
	if err != nil {
		return out, err
	}
	ports := a.engine.tester.ports
	link := float64(min(ports[r.Sender].BitsPerSecond, ports[r.Receiver].BitsPerSecond)) * float64(row.capacityPPM) / 1e6
	goodput := link * float64(8*(r.MTU-tcpHeaders)) / float64(frame.WireBits(size))
	if goodput <= 0 {
		return out, fmt.Errorf("the model forwards no frames of %d bytes: lower mtu", size)
	}
	bytes := r.Bytes
	if out.Took = r.Duration; out.Took > 0 {
		bytes = int64(goodput / 8 * r.Duration.Seconds())
	} else {
		out.Took = time.Duration(float64(bytes*8) / goodput * float64(time.Second))
	}
	for _, part := range workload.Stripe(bytes, r.Connections) {
		out.Connections = append(out.Connections, workload.BulkConnection{Sent: part, Received: part})
	}
	return out, a.engine.clock.Sleep(ctx, out.Took)
}
