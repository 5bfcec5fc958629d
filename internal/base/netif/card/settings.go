package card

import (
	"errors"
	"fmt"
	"slices"

	"github.com/safchain/ethtool"
)

// Settings of an interface as ethtool shows them. What the driver does not have is nil.
type Settings struct {
	// Pause describes how the interface uses pause frames (ethtool -a).
	Pause *ethtool.Pause `json:"pause,omitempty"`
	// Channels, Rings and Coalescing (ethtool -l, -g, -c).
	Channels   *ethtool.Channels `json:"channels,omitempty"`
	Rings      *ethtool.Ring     `json:"rings,omitempty"`
	Coalescing *ethtool.Coalesce `json:"coalescing,omitempty"`
	// Spread of received frames over the queues (ethtool -x).
	Spread Spread `json:"spread,omitempty"`
}

// Read reads the settings.
func Read(name string) (Settings, error) {
	var s Settings
	err := withTool(func(tool *ethtool.Ethtool) error {
		s.Pause = setting(tool.GetPause(name))
		s.Channels = setting(tool.GetChannels(name))
		s.Rings = setting(tool.GetRing(name))
		s.Coalescing = setting(tool.GetCoalesce(name))
		return nil
	})
	if err != nil {
		return s, err
	}
	// The command is in the structures, and no part of the settings.
	if s.Pause != nil {
		s.Pause.Cmd = 0
	}
	if s.Channels != nil {
		s.Channels.Cmd = 0
	}
	if s.Rings != nil {
		s.Rings.Cmd = 0
	}
	if s.Coalescing != nil {
		s.Coalescing.Cmd = 0
	}
	s.Spread, err = readSpread(name)
	if err != nil {
		return s, fmt.Errorf("reading the receive queues of %s: %w", name, err)
	}
	return s, nil
}

// setting is a value that was read; nil after an error, as the driver's are many: the
// setting is not there, or not while the interface is down.
func setting[T any](value T, err error) *T {
	if err != nil {
		return nil
	}
	return &value
}

// Restore changes what differs from the settings, each whatever happens to the others, and
// returns the names of the changed ones. Channels come first, since a change of their
// number makes a new spread.
func (s Settings) Restore(name string) (changed []string, err error) {
	is, err := Read(name)
	if err != nil {
		return nil, err
	}
	var errs []error
	step := func(what string, differs bool, set func() error) {
		if !differs {
			return
		}
		if err := set(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
			return
		}
		changed = append(changed, what)
	}
	err = withTool(func(tool *ethtool.Ethtool) error {
		step("channels", differ(is.Channels, s.Channels), func() error { _, err := tool.SetChannels(name, *s.Channels); return err })
		step("rings", differ(is.Rings, s.Rings), func() error { _, err := tool.SetRing(name, *s.Rings); return err })
		step("coalescing", differ(is.Coalescing, s.Coalescing), func() error { _, err := tool.SetCoalesce(name, *s.Coalescing); return err })
		return nil
	})
	if now, err := readSpread(name); err == nil {
		step("receive queues", len(now) > 0 && len(s.Spread) > 0 && !slices.Equal(now, s.Spread), func() error { return setSpread(name, s.Spread) })
	}
	step("pause frames", differ(is.Pause, s.Pause), func() error { return setPause(name, *s.Pause) })
	return changed, errors.Join(append(errs, err)...)
}

// differ reports whether both are known, and are not the same.
func differ[T comparable](is, want *T) bool { return is != nil && want != nil && *is != *want }

// readPause reads the use of pause frames; nil where the driver has none.
func readPause(name string) (p *ethtool.Pause, err error) {
	return p, withTool(func(tool *ethtool.Ethtool) error {
		if p = setting(tool.GetPause(name)); p != nil {
			p.Cmd = 0
		}
		return nil
	})
}

func setPause(name string, p ethtool.Pause) error {
	return withTool(func(tool *ethtool.Ethtool) error {
		_, err := tool.SetPause(name, p)
		return err
	})
}

func withTool(f func(*ethtool.Ethtool) error) error {
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return fmt.Errorf("opening ethtool: %w", err)
	}
	defer tool.Close()
	return f(tool)
}
