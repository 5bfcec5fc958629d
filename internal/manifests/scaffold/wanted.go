package scaffold

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/base/hostdevice"
	"nodrop.dev/nodrop/internal/base/human"
)

const (
	deviceSwitch        = "switch"
	deviceRouter        = "router"
	deviceVirtualSwitch = "virtual-switch"
	deviceVirtualRouter = "virtual-router"
)

// DeviceKinds are the kinds of devices that init knows.
var DeviceKinds = []string{deviceSwitch, deviceRouter, deviceVirtualSwitch, deviceVirtualRouter}

// Wanted contains the device and the interfaces that the user wants to measure.
type Wanted struct {
	Device, Vendor, Model, Name             string
	Interfaces, Speeds, Addresses, Gateways []string
}

func (w *Wanted) virtual() bool { return strings.HasPrefix(w.Device, "virtual-") }
func (w *Wanted) routes() bool  { return strings.HasSuffix(w.Device, deviceRouter) }

// Complete asks for missing values. It takes their defaults if questions is nil.
func (w *Wanted) Complete(interfaces func() ([]hostdevice.Candidate, error), questions *Prompt) error {
	if w.Device == "" {
		if questions == nil {
			return hint.With(errors.New("--device is missing"), "give one of "+strings.Join(DeviceKinds, ", "))
		}
		var err error
		if w.Device, err = questions.choose("What is the device?", DeviceKinds, deviceSwitch); err != nil {
			return err
		}
	}
	if !slices.Contains(DeviceKinds, w.Device) {
		return fmt.Errorf("--device %q is no kind of device: give one of %s", w.Device, strings.Join(DeviceKinds, ", "))
	}
	if w.virtual() {
		if len(w.Interfaces) > 0 {
			return fmt.Errorf("--interfaces %s: a %s has no cables: leave --interfaces out, or give --device switch or router", strings.Join(w.Interfaces, ","), w.Device)
		}
		w.Interfaces = []string{"nd-p1", "nd-p2"}
		if len(w.Speeds) == 0 {
			w.Speeds = []string{"1G"}
		}
	} else if err := w.cabled(interfaces, questions); err != nil {
		return err
	}
	if len(w.Interfaces)%2 != 0 {
		return fmt.Errorf("--interfaces names %d (%s): give an even number, since the first sends to the second, the third to the fourth", len(w.Interfaces), strings.Join(w.Interfaces, ","))
	}
	return w.ports(questions)
}

// cabled completes interfaces, speeds and the device's description.
func (w *Wanted) cabled(interfaces func() ([]hostdevice.Candidate, error), questions *Prompt) error {
	found, err := interfaces()
	if err != nil {
		return err
	}
	var usable []string
	var described []string
	for _, c := range found {
		if c.Why == "" {
			usable = append(usable, c.Name)
			described = append(described, human.Join(" ", c.Name, speedName(c.Megabits)))
		}
	}
	if len(w.Interfaces) == 0 {
		if questions == nil {
			return hint.With(errors.New("--interfaces is missing"), "usable on this machine: "+orNone(described)+notUsable(found))
		}
		questions.say("Interfaces of this machine: " + orNone(described) + notUsable(found))
		preset := ""
		if len(usable) >= 2 {
			preset = strings.Join(usable[:2], ",")
		}
		answer, err := questions.ask("Which are cabled to the device?", preset)
		if err != nil {
			return err
		}
		w.Interfaces = splitList(answer)
	}
	speeds := w.Speeds
	for i, name := range w.Interfaces {
		at := slices.IndexFunc(found, func(c hostdevice.Candidate) bool { return c.Name == name })
		switch {
		case at < 0:
			return hint.With(fmt.Errorf("--interfaces %s: this machine has no such interface", name), "usable here: "+orNone(described)+notUsable(found))
		case found[at].Why != "":
			return fmt.Errorf("--interfaces %s: %s", name, found[at].Why)
		case slices.Contains(w.Interfaces[:i], name):
			return fmt.Errorf("--interfaces names %s twice: every port needs its own interface", name)
		case len(w.Speeds) > 0:
			continue
		}
		speed := speedName(found[at].Megabits)
		if speed == "" {
			if questions == nil {
				return hint.With(fmt.Errorf("the speed of %s is not known: its link is down, or it has none", name), "connect it, or give --speed 10G")
			}
			if speed, err = questions.ask("Speed of "+name+"?", "10G"); err != nil {
				return err
			}
		}
		speeds = append(speeds, speed)
	}
	w.Speeds = speeds
	for _, text := range []struct {
		into     *string
		question string
	}{{&w.Vendor, "Vendor of the device, for the report?"}, {&w.Model, "Model of the device?"}} {
		if *text.into == "" && questions != nil {
			if *text.into, err = questions.ask(text.question, "unknown"); err != nil {
				return err
			}
		}
		if *text.into == "" {
			*text.into = "unknown"
		}
	}
	return nil
}

// ports completes speeds, addresses and gateways, one for each interface.
func (w *Wanted) ports(questions *Prompt) error {
	n := len(w.Interfaces)
	if len(w.Speeds) == 1 {
		w.Speeds = slices.Repeat(w.Speeds, n)
	}
	if len(w.Gateways) > 0 && !w.routes() {
		return fmt.Errorf("--gateways %s: a %s has no addresses: leave --gateways out, or give --device router", strings.Join(w.Gateways, ","), w.Device)
	}
	given := len(w.Addresses)
	asked := given == 0 && questions != nil && !w.virtual()
	for i := 0; i < n && (asked || given == 0); i++ {
		address := fmt.Sprintf("198.18.1.%d/24", i+2)
		if w.routes() {
			address = fmt.Sprintf("198.18.%d.2/24", i+1)
		}
		if asked {
			var err error
			if address, err = questions.ask("Address of the tester on "+w.Interfaces[i]+"?", address); err != nil {
				return err
			}
		}
		w.Addresses = append(w.Addresses, address)
	}
	if w.routes() && len(w.Gateways) == 0 && len(w.Addresses) == n {
		for i, text := range w.Addresses {
			address, err := netip.ParsePrefix(text)
			if err != nil {
				return fmt.Errorf("--addresses %s: is not an address with prefix length, such as 198.18.1.2/24", text)
			}
			gateway := address.Masked().Addr().Next().String()
			if asked {
				if gateway, err = questions.ask("Address of the router on "+w.Interfaces[i]+"?", gateway); err != nil {
					return err
				}
			}
			w.Gateways = append(w.Gateways, gateway)
		}
	}
	for _, list := range []struct {
		flag   string
		values []string
		needed bool
	}{{"--speed", w.Speeds, true}, {"--addresses", w.Addresses, true}, {"--gateways", w.Gateways, w.routes()}} {
		if list.needed && len(list.values) != n {
			return fmt.Errorf("%s has %d values (%s) for %d interfaces: give one for each", list.flag, len(list.values), strings.Join(list.values, ","), n)
		}
	}
	return nil
}

// node is the name that the ports give this machine.
func node() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "here"
	}
	return strings.ToLower(name)
}

// speedName is a speed as a bed has it; empty where it is not known.
func speedName(megabits int64) string {
	switch {
	case megabits <= 0:
		return ""
	case megabits%1000 == 0:
		return strconv.FormatInt(megabits/1000, 10) + "G"
	}
	return strconv.FormatInt(megabits, 10) + "M"
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// notUsable lists the interfaces that cannot be used, with reasons.
func notUsable(found []hostdevice.Candidate) string {
	text := ""
	for _, c := range found {
		if c.Why != "" {
			text += "\n  not " + c.Name + ": " + c.Why
		}
	}
	return text
}

// splitList divides an answer at commas and spaces.
func splitList(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}
