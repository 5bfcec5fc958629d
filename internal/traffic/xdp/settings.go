package xdp

import (
	"fmt"
	"slices"

	"nodrop.dev/nodrop/internal/traffic"
)

// steer lets the interface receive in one queue, by its table for receive side scaling. So
// the frames of a stream are counted in the order in which they arrived, whatever varies in
// their headers. Where the driver does not allow it, the port has a note.
func (p *port) steer() error {
	queues, err := p.card.Queues()
	if err != nil {
		return fmt.Errorf("reading the receive queues: %w", err)
	}
	if queues < 2 {
		return nil
	}
	if err := p.card.ReceiveIn(p.receiveQueue(queues)); err != nil {
		p.note(fmt.Sprintf("%s receives in %d queues, which can change the order of frames within a stream, because the driver %s does not put them into one: %v", p.Interface, queues, p.driver, err))
	}
	return nil
}

// receiveQueue is the queue of the port. Queue n is usually served by processor n, and port
// n is sent on by processor n: ports receive in the queues behind those where there are as
// many.
func (p *port) receiveQueue(queues uint32) uint32 {
	ports := len(p.engine.options.Ports)
	return uint32(ports+slices.Index(p.engine.ports, p)) % queues
}

// turnPauseOff keeps the interface from sending pause frames, by which a tester that is
// overloaded would slow the device down, and from obeying them.
func (p *port) turnPauseOff() {
	if err := p.card.TurnPauseOff(); err != nil {
		p.note(fmt.Sprintf("%s uses pause frames, by which tester and device can slow each other down, because the driver %s does not turn them off: %v", p.Interface, p.driver, err))
	}
}

// keepPauseOff turns pause frames off again where a driver has turned them on with the link,
// as igb does if it was set to obey them before.
func (p *port) keepPauseOff() {
	if !p.obeysPause {
		p.turnPauseOff()
	}
}

// usePause lets the interface use pause frames while it sends streams that obey them.
func (p *port) usePause(tx []traffic.Stream) error {
	obeys := slices.ContainsFunc(tx, func(s traffic.Stream) bool { return s.ObeysPause })
	if obeys == p.obeysPause {
		return nil
	}
	p.obeysPause = obeys
	if !obeys {
		p.turnPauseOff()
		return nil
	}
	if err := p.card.RestorePause(); err != nil {
		return fmt.Errorf("using pause frames: %w", err)
	}
	return nil
}

// note adds a note for the report, once.
func (p *port) note(text string) {
	if !slices.Contains(p.notes, text) {
		p.notes = append(p.notes, text)
	}
}
