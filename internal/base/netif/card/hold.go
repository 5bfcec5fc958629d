package card

import (
	"fmt"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
)

// Held is an interface whose settings a tester changes for as long as it has it.
type Held struct {
	name   string
	record record
}

// Hold begins to change an interface. It takes over the record of a process that was
// killed.
func Hold(name string) (*Held, error) {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return nil, fmt.Errorf("looking up %s: %w", name, err)
	}
	h := &Held{name: name}
	if h.record, err = parseRecord(link.Attrs().Alias); err != nil {
		return nil, err
	}
	return h, nil
}

// On returns the offloads that are on, out of the given ones.
func (h *Held) On(features ...string) (on []string, err error) {
	return on, withTool(func(tool *ethtool.Ethtool) error {
		have, err := tool.Features(h.name)
		if err != nil {
			return fmt.Errorf("reading the offloads: %w", err)
		}
		for _, name := range features {
			if have[name] {
				on = append(on, name)
			}
		}
		return nil
	})
}

// TurnOff turns offloads off that are on and can be changed.
func (h *Held) TurnOff(features ...string) error {
	off := map[string]bool{}
	err := withTool(func(tool *ethtool.Ethtool) error {
		have, err := tool.FeaturesWithState(h.name)
		if err != nil {
			return fmt.Errorf("reading the offloads: %w", err)
		}
		for _, name := range features {
			if f, known := have[name]; known && f.Active && !f.NeverChanged {
				off[name] = false
				h.record.features[name] = true
			}
		}
		return nil
	})
	if err != nil || len(off) == 0 {
		return err
	}
	if err := h.record.keep(h.name); err != nil {
		return err
	}
	for name := range off { // one by one, so that an error names it
		if _, err := setFeatures(h.name, map[string]bool{name: false}); err != nil {
			return fmt.Errorf("turning off %s: %w", name, err)
		}
	}
	return nil
}

// TurnPauseOff lets the interface neither send pause frames nor obey them. It returns the
// reason where the driver does not let it.
func (h *Held) TurnPauseOff() error {
	is, err := readPause(h.name)
	if err != nil || is == nil || is.RxPause == 0 && is.TxPause == 0 {
		return err
	}
	if h.record.pause == nil {
		h.record.pause = is
		if err := h.record.keep(h.name); err != nil {
			h.record.pause = nil
			return err
		}
	}
	refused := setPause(h.name, ethtool.Pause{})
	if refused != nil && is.Autoneg != 0 {
		// Some drivers have no autonegotiation for pause alone.
		refused = setPause(h.name, ethtool.Pause{Autoneg: is.Autoneg})
	}
	if refused != nil {
		return refused
	}
	now, err := readPause(h.name)
	if err == nil && now != nil && (now.RxPause != 0 || now.TxPause != 0) {
		err = fmt.Errorf("the driver keeps them on (autonegotiation %s, receive %s, send %s)", onOff(now.Autoneg != 0), onOff(now.RxPause != 0), onOff(now.TxPause != 0))
	}
	return err
}

// RestorePause lets the interface use pause frames as it did before.
func (h *Held) RestorePause() error {
	if h.record.pause == nil {
		return nil
	}
	if _, err := (Settings{Pause: h.record.pause}).Restore(h.name); err != nil {
		return err
	}
	h.record.pause = nil
	return h.record.keep(h.name)
}

// Queues returns the number of receive queues that frames are spread over.
func (h *Held) Queues() (uint32, error) {
	table, err := readSpread(h.name)
	if err != nil {
		return 0, err
	}
	if _, one := table.Queue(); one {
		return 1, nil
	}
	queues, err := receiveQueues(h.name)
	if err != nil {
		return 0, err
	}
	is, err := Read(h.name)
	if c := is.Channels; c != nil {
		queues = max(queues, c.CombinedCount+c.RxCount)
	}
	return queues, err
}

// ReceiveIn puts all received frames into one queue. It returns the reason where the driver
// does not let it.
func (h *Held) ReceiveIn(queue uint32) error {
	is, err := readSpread(h.name)
	if err != nil {
		return err
	}
	if len(is) == 0 {
		return fmt.Errorf("the driver has no table of receive queues (RSS)")
	}
	if q, one := is.Queue(); one && q == queue {
		return nil
	}
	if h.record.spread == nil {
		h.record.spread = is
		if err := h.record.keep(h.name); err != nil {
			h.record.spread = nil
			return err
		}
	}
	return setSpread(h.name, single(len(is), queue))
}

// Restore restores all settings. It may be called again.
func (h *Held) Restore() error {
	_, err := h.record.restore(h.name)
	if err == nil {
		h.record = record{alias: h.record.alias, features: map[string]bool{}}
	}
	if gone(err) {
		return nil
	}
	return err
}
