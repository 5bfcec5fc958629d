package snmp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gosnmp/gosnmp"

	"nodrop.dev/nodrop/internal/dut/telemetry"
)

// SwitchedOutlet is an object that turns an outlet off and on.
type SwitchedOutlet struct {
	// OID without a dot in front.
	OID     string
	On, Off int32
}

// Switch takes the power of a device away by all of its outlets.
type Switch struct {
	outlets []SwitchedOutlet
	// ended is closed when no outlet is turned on any more.
	ended chan struct{}
	// later waits for the outlets that are turned on after a while.
	later sync.WaitGroup

	mu     sync.Mutex
	reader Reader
	// off reports whether the outlets are off by this switch.
	off bool
	// failure is why they could not be turned on again.
	failure error
}

var _ telemetry.PowerSwitch = (*Switch)(nil)

// NewSwitch returns a switch, which does not connect yet.
func NewSwitch(c Config, outlets []SwitchedOutlet) (*Switch, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	return &Switch{reader: Reader{config: c}, outlets: outlets, ended: make(chan struct{})}, nil
}

// Times within which an outlet is turned on again, and between two attempts.
const (
	onWithin = 5 * time.Minute
	onAgain  = time.Second
)

// On implements telemetry.PowerSwitch.
func (s *Switch) On(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.set(ctx, func(o SwitchedOutlet) int32 { return o.On })
	if err == nil {
		s.off, s.failure = false, nil
	}
	return err
}

// Cycle implements telemetry.PowerSwitch.
func (s *Switch) Cycle(ctx context.Context, off time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.failure != nil:
		return fmt.Errorf("the power could not be turned on again: %w", s.failure)
	case s.off:
		return errors.New("the power is off already")
	}
	// A request without an answer may have turned outlets off.
	s.off = true
	failure := s.set(ctx, func(o SwitchedOutlet) int32 { return o.Off })
	if failure != nil {
		off = 0
	}
	s.later.Go(func() {
		select {
		case <-s.ended:
		case <-time.After(off):
		}
		s.restore()
	})
	return failure
}

// restore turns the outlets on, as often as it takes.
func (s *Switch) restore() {
	ctx, cancel := context.WithTimeout(context.Background(), onWithin)
	defer cancel()
	for {
		err := s.On(ctx)
		if err == nil {
			return
		}
		select {
		case <-time.After(onAgain):
		case <-ctx.Done():
			s.mu.Lock()
			s.failure = err
			s.mu.Unlock()
			return
		}
	}
}

// set gives all outlets a value by one request, of which an agent carries out all or nothing (RFC 3416 section 4.2.5).
func (s *Switch) set(ctx context.Context, value func(SwitchedOutlet) int32) error {
	return s.reader.ask(ctx, func() error {
		var values []gosnmp.SnmpPDU
		for _, o := range s.outlets {
			values = append(values, gosnmp.SnmpPDU{Name: "." + o.OID, Type: gosnmp.Integer, Value: int(value(o))})
		}
		answer, err := s.reader.client.Set(values)
		if err != nil {
			return err
		}
		if answer.Error != gosnmp.NoError {
			oid := ""
			if i := int(answer.ErrorIndex); i >= 1 && i <= len(s.outlets) {
				oid = " " + s.outlets[i-1].OID
			}
			return fmt.Errorf("it refuses to set object%s: %s: compare switch of the outlet with the MIB, and give a user or writeCommunity that may write", oid, answer.Error)
		}
		return nil
	})
}

// Close turns outlets on that are off, and waits for that.
func (s *Switch) Close() {
	close(s.ended)
	s.later.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reader.Close()
}
