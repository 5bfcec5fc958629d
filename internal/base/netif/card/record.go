package card

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nodrop.dev/nodrop/internal/base/netif"
)

// record contains the settings of an interface before the first change.
type record struct {
	pause    *ethtool.Pause
	spread   Spread
	features map[string]bool
	// alias that the interface had.
	alias string
}

// An alias with a record begins with mark. The interface's own alias is behind ownAlias, at
// the end.
const (
	mark     = "NoDrop changed, before:"
	ownAlias = " alias="
)

// maxAlias is the longest alias of an interface (IFALIASZ) in bytes.
const maxAlias = 255

func (r *record) empty() bool { return r.pause == nil && r.spread == nil && len(r.features) == 0 }

// write returns the alias with the record; an empty record leaves the interface its own.
func (r *record) write() string {
	if r.empty() {
		return r.alias
	}
	text := mark
	if p := r.pause; p != nil {
		text += fmt.Sprintf(" pause=%s/%s/%s", onOff(p.Autoneg != 0), onOff(p.RxPause != 0), onOff(p.TxPause != 0))
	}
	if r.spread != nil {
		text += " rss=" + r.spread.write()
	}
	for _, f := range slices.Sorted(maps.Keys(r.features)) {
		text += fmt.Sprintf(" %s=%s", f, onOff(r.features[f]))
	}
	if r.alias != "" {
		text += ownAlias + r.alias
	}
	return text
}

// parseRecord reads the alias of an interface. It may be one that has no record.
func parseRecord(alias string) (record, error) {
	r := record{features: map[string]bool{}}
	text, found := strings.CutPrefix(alias, mark)
	if !found {
		r.alias = alias
		return r, nil
	}
	text, r.alias, _ = strings.Cut(text, ownAlias)
	for _, word := range strings.Fields(text) {
		key, value, _ := strings.Cut(word, "=")
		var err error
		switch key {
		case "pause":
			r.pause, err = parsePause(value)
		case "rss":
			r.spread, err = parseSpread(value)
		default:
			r.features[key], err = parseOnOff(value)
		}
		if err != nil {
			return r, fmt.Errorf("reading the alias %q: %s: %w", alias, key, err)
		}
	}
	return r, nil
}

func parsePause(text string) (*ethtool.Pause, error) {
	words := strings.Split(text, "/")
	if len(words) != 3 {
		return nil, fmt.Errorf("%q is not autonegotiation/rx/tx", text)
	}
	p := &ethtool.Pause{}
	for i, to := range []*uint32{&p.Autoneg, &p.RxPause, &p.TxPause} {
		on, err := parseOnOff(words[i])
		if err != nil {
			return nil, err
		}
		if on {
			*to = 1
		}
	}
	return p, nil
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func parseOnOff(text string) (bool, error) {
	switch text {
	case "on":
		return true, nil
	case "off":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither on nor off", text)
}

// keep writes the record to the interface.
func (r *record) keep(name string) error {
	alias := r.write()
	if len(alias) > maxAlias {
		return fmt.Errorf("the record of the settings takes %d bytes of the alias of %s, which has %d", len(alias), name, maxAlias)
	}
	link, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	if link.Attrs().Alias == alias {
		return nil
	}
	if err := netlink.LinkSetAlias(link, alias); err != nil {
		return fmt.Errorf("recording the settings in the alias of %s: %w", name, err)
	}
	return nil
}

// restore changes the settings back, each whatever happens to the others, and removes the
// record when that was done.
func (r *record) restore(name string) (changed []string, err error) {
	if r.empty() {
		return nil, r.keep(name)
	}
	var errs []error
	if changed, err = setFeatures(name, r.features); err != nil {
		errs = append(errs, fmt.Errorf("offloads: %w", err))
	}
	more, err := Settings{Pause: r.pause, Spread: r.spread}.Restore(name)
	changed = append(changed, more...)
	if err := errors.Join(append(errs, err)...); err != nil {
		return changed, fmt.Errorf("restoring the settings of %s: %w", name, err)
	}
	own := record{alias: r.alias}
	return changed, own.keep(name)
}

// setFeatures sets those that are otherwise, and returns their names.
func setFeatures(name string, want map[string]bool) (changed []string, err error) {
	return changed, withTool(func(tool *ethtool.Ethtool) error {
		have, err := tool.FeaturesWithState(name)
		if err != nil {
			return err
		}
		other := map[string]bool{}
		for feature, on := range want {
			if f, known := have[feature]; known && f.Active != on {
				other[feature] = on
				changed = append(changed, feature)
			}
		}
		slices.Sort(changed)
		if len(other) == 0 {
			return nil
		}
		return tool.Change(name, other)
	})
}

// Recover restores the settings of an interface that a process which was killed has
// changed, and returns their names. An interface in use, by its XDP program, is left alone.
func Recover(link netlink.Link) (changed []string, err error) {
	a := link.Attrs()
	if !strings.HasPrefix(a.Alias, mark) || InUse(link) {
		return nil, nil
	}
	r, err := parseRecord(a.Alias)
	if err != nil {
		return nil, err
	}
	return r.restore(a.Name)
}

// RecoverAll restores the settings of all interfaces that processes which were killed have
// changed. It returns the names of the restored settings by interface.
func RecoverAll() (map[string][]string, error) {
	links, err := netif.Whole(netlink.LinkList)
	if err != nil {
		return nil, fmt.Errorf("listing the interfaces: %w", err)
	}
	restored := map[string][]string{}
	var errs []error
	for _, l := range links {
		changed, err := Recover(l)
		if err != nil {
			errs = append(errs, err)
		}
		if len(changed) > 0 {
			restored[l.Attrs().Name] = changed
		}
	}
	return restored, errors.Join(errs...)
}

// InUse reports whether an interface has an XDP program: that of a tester ends with its
// process.
func InUse(link netlink.Link) bool {
	xdp := link.Attrs().Xdp
	return xdp != nil && xdp.Attached
}

// gone reports whether an error means that the interface does not exist any more.
func gone(err error) bool {
	return errors.Is(err, unix.ENODEV) || errors.As(err, &netlink.LinkNotFoundError{})
}
