package bedprobe

import (
	"encoding/json"
	"fmt"
	"time"
)

// Fault is a kind of problem of an interface.
type Fault string

// Faults of an interface, from the worst to the least.
const (
	// Missing means that the node has no such interface.
	Missing Fault = "missing"
	// NoLink means that the interface is up and has no link. The link of an interface that is
	// down is not known.
	NoLink Fault = "nolink"
	// Slow means that the link is slower than the bed describes.
	Slow Fault = "slow"
)

// Problem is an interface that is not as the bed describes it.
type Problem struct {
	Port  Port  `json:"port"`
	Fault Fault `json:"fault"`
	// Megabits is the speed in Mbit/s of a link that is too slow.
	Megabits int64 `json:"megabits,omitempty"`
}

// Answer contains what a probe found on one node.
type Answer struct {
	// Time by the clock of the node.
	Time time.Time `json:"time"`
	// Problems are the first maxProblems, and More is the number of the others.
	Problems []Problem `json:"problems,omitempty"`
	More     int       `json:"more,omitempty"`
}

// maxProblems keeps an answer below 4096 bytes, the bound of a termination message.
const maxProblems = 24

// Link contains the properties of an interface.
type Link struct {
	// Exists reports whether the node has the interface.
	Exists bool
	// Up reports whether it is set up, and Carrier whether it then has a link.
	Up, Carrier bool
	// Megabits is the speed of a card in Mbit/s; 0 if it is unknown, or no property of hardware.
	Megabits int64
}

// Options of a probe.
type Options struct {
	// IgnoreLinks leaves out link and speed. The ports of a bed without a device are each
	// other's links, which depend on which of them are set up.
	IgnoreLinks bool
}

// Probe reads the interfaces of ports by a function, and compares them.
func Probe(ports []Port, o Options, now time.Time, read func(name string) (Link, error)) (Answer, error) {
	answer := Answer{Time: now}
	for _, p := range ports {
		link, err := read(p.Interface)
		if err != nil {
			return answer, fmt.Errorf("reading interface %s: %w", p.Interface, err)
		}
		problem, wrong := compare(p, o, link)
		switch {
		case !wrong:
		case len(answer.Problems) < maxProblems:
			answer.Problems = append(answer.Problems, problem)
		default:
			answer.More++
		}
	}
	return answer, nil
}

func compare(p Port, o Options, link Link) (_ Problem, wrong bool) {
	switch {
	case !link.Exists:
		return Problem{Port: p, Fault: Missing}, true
	case o.IgnoreLinks, !link.Up:
		return Problem{}, false
	case !link.Carrier:
		return Problem{Port: p, Fault: NoLink}, true
	case link.Megabits > 0 && link.Megabits < p.Megabits:
		return Problem{Port: p, Fault: Slow, Megabits: link.Megabits}, true
	}
	return Problem{}, false
}

// Encode returns an answer as the termination message of a pod.
func (a Answer) Encode() ([]byte, error) {
	text, err := json.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("writing the answer of a probe: %w", err)
	}
	return text, nil
}

// Decode reads the termination message of a pod.
func Decode(message string) (Answer, error) {
	var a Answer
	if err := json.Unmarshal([]byte(message), &a); err != nil {
		return a, fmt.Errorf("reading the answer of a probe: %w", err)
	}
	return a, nil
}
