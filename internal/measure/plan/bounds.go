package plan

import (
	"fmt"
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// Bound is a load that bounds what a method tries: the lowest or highest one, or a
// difference between two. It has an amount before anything is measured.
type Bound struct {
	// Field of the test that gives it.
	Field string
	Load  v1alpha1.LoadAmount
}

// senders are the ports that send in tests of a method, each once.
func (p Plan) senders(m Method) iter.Seq[Port] {
	return func(yield func(Port) bool) {
		seen := map[int]bool{}
		goOn := func(tx int) bool {
			if seen[tx] || tx >= len(p.Ports) {
				return true
			}
			seen[tx] = true
			return yield(p.Ports[tx])
		}
		if m.Topology != nil {
			for _, f := range m.Topology.Flows {
				if !goOn(f[0]) {
					return
				}
			}
			return
		}
		for _, s := range p.Streams {
			if !goOn(s.Tx) {
				return
			}
		}
	}
}

// validateBounds reports bounds that are no load.
func validateBounds(bounds []Bound, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, b := range bounds {
		if _, _, err := b.Load.Amount(); b.Load != "" && err != nil {
			errs = append(errs, field.Invalid(path.Child(b.Field), b.Load, v1alpha1.LoadHint))
		}
	}
	return errs
}

// validateBoundsOn reports bounds that ports cannot send or that are no share of one
// line rate, and loads of a test that do not go together at a size.
func validateBoundsOn(b *v1alpha1.Benchmark, profile *v1alpha1.TrafficProfile, ports []Port) field.ErrorList {
	var errs field.ErrorList
	p := Plan{Ports: ports, Streams: streams(profile, ports)}
	for i, test := range b.Spec.Tests {
		m, ok := methodOf(test)
		if !ok || m.Bounds == nil {
			continue
		}
		path := field.NewPath("spec", "tests").Index(i).Child(m.Member)
		found := p.unshareable(m, m.Bounds(test), sizes(profile), path)
		for _, size := range sizes(profile) {
			if len(found) == 0 && m.Together != nil {
				found = m.Together(test, p.scale(m, size), path)
			}
		}
		errs = append(errs, found...)
	}
	return errs
}

// unshareable are the bounds in frames/s or bit/s that are not a share of line rate up
// to all of it.
func (p Plan) unshareable(m Method, bounds []Bound, sizes []Size, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	senders := slices.Collect(p.senders(m))
	for _, b := range bounds {
		if !b.Load.IsRate() {
			continue
		}
		text := sameSpeed(senders)
		if text == "" {
			text = p.of(senders, m).unsendable(v1alpha1.Load(b.Load), sizes)
		}
		if text != "" {
			errs = append(errs, field.Invalid(path.Child(b.Field), b.Load, text))
		}
	}
	return errs
}

// of is the plan with the senders of a method.
func (p Plan) of(senders []Port, m Method) Plan {
	if m.Topology == nil {
		return p
	}
	p.Ports, p.Streams = senders, nil
	for i := range senders {
		p.Streams = append(p.Streams, Stream{ID: uint16(i), Tx: i, Part: 1})
	}
	return p
}

// sameSpeed describes two ports that have different speeds; empty if all have the same.
func sameSpeed(ports []Port) string {
	for _, port := range ports {
		if first := ports[0]; port.BitsPerSecond != first.BitsPerSecond {
			return fmt.Sprintf("port %s sends at %s and port %s at %s, of which a rate is not the same share: give a percentage of line rate",
				first.Name, first.Speed, port.Name, port.Speed)
		}
	}
	return ""
}

// mostFalling is the maximum number of loads of Falling: the finest step is 1 % of line
// rate.
const mostFalling = 100

// Falling are the loads from a highest one down in equal steps, as long as they are above
// 0: in the unit of both, or in percent of line rate where they have two units. Of loads
// that are rates without a known speed they are as many as there may be.
func Falling(highest, step v1alpha1.LoadAmount, at Scale) []v1alpha1.Load {
	n, unit, err := highest.Amount()
	less, other, stepErr := step.Amount()
	if err != nil || stepErr != nil {
		return nil
	}
	first := v1alpha1.FormatLoad(n, unit)
	if unit != other {
		n, less, unit = at.PPM(highest), at.PPM(step), v1alpha1.LoadShare
		if !at.Known() {
			n, less = v1alpha1.PPM, v1alpha1.PPM/mostFalling
		}
	}
	loads := []v1alpha1.Load{first}
	for n -= less; n > 0 && len(loads) < mostFalling; n -= less {
		loads = append(loads, v1alpha1.FormatLoad(n, unit))
	}
	return loads
}
