package plan

import (
	"fmt"
	"math"
	"math/big"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/traffic/frame"
)

// Bounds of a mix, as the schema has them.
const (
	maxMixes   = 16
	maxWeights = 32
	maxGenome  = 256
	maxWeight  = 1000
)

// validateMixes reports what is wrong with the mixes of a profile for themselves.
func validateMixes(profile Section) field.ErrorList {
	var errs field.ErrorList
	all := profile.Spec.FrameMixes
	if len(all) > maxMixes {
		errs = append(errs, field.TooMany(profile.Path.Child("frameMixes"), len(all), maxMixes))
	}
	names := map[string]bool{}
	for i, m := range all {
		path := profile.mixPath(i)
		switch {
		case m.Name == "":
			errs = append(errs, field.Required(path.Child("name"), "give the mix a name for the results"))
		case names[m.Name]:
			errs = append(errs, field.Duplicate(path.Child("name"), m.Name))
		}
		names[m.Name] = true
		errs = append(errs, validateMix(m, profile.Spec.Packet, path)...)
	}
	return errs
}

// validateMix reports what is wrong with one mix of packets.
func validateMix(m v1alpha1.FrameMix, packet v1alpha1.Packet, path *field.Path) field.ErrorList {
	given := 0
	for _, is := range []bool{len(m.Weights) > 0, m.Genome != "", m.IMIX != ""} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return field.ErrorList{field.Required(path, "give exactly one of weights, genome and imix")}
	case m.MTU != 0 && !strings.ContainsRune(m.Genome, frame.GenomeMTU):
		return field.ErrorList{field.Invalid(path.Child("mtu"), m.MTU, "only the letter z of a genome uses it: add a z to genome, or leave mtu out")}
	case m.Genome != "":
		return validateGenome(m, packet, path)
	case m.IMIX != "" && m.IMIX != v1alpha1.IMIXSimple:
		return field.ErrorList{field.NotSupported(path.Child("imix"), m.IMIX, []v1alpha1.IMIX{v1alpha1.IMIXSimple})}
	case m.IMIX != "":
		return mixSize(frame.MixOf(m)[0].Size, m.IMIX, packet, path.Child("imix"), "give weights of larger sizes")
	}
	return validateWeights(m, packet, path.Child("weights"))
}

func validateGenome(m v1alpha1.FrameMix, packet v1alpha1.Packet, path *field.Path) field.ErrorList {
	genome := path.Child("genome")
	if len(m.Genome) > maxGenome {
		return field.ErrorList{field.TooLong(genome, m.Genome, maxGenome)}
	}
	seen := map[rune]bool{}
	var errs field.ErrorList
	for _, letter := range m.Genome {
		if seen[letter] {
			continue
		}
		seen[letter] = true
		size, known := frame.Genome[letter]
		switch {
		case letter == frame.GenomeMTU && m.MTU <= 0:
			errs = append(errs, field.Required(path.Child("mtu"), "the letter z of the genome stands for the MTU (RFC 6985): give mtu"))
		case letter == frame.GenomeMTU:
			errs = append(errs, mixSize(frame.PacketFrame(int(m.MTU)), m.MTU, packet, path.Child("mtu"), "change mtu")...)
		case !known:
			errs = append(errs, field.Invalid(genome, m.Genome, fmt.Sprintf("%q is no size of RFC 6985 that can be sent: use a to i and z, or give other sizes as weights", letter)))
		default:
			errs = append(errs, mixSize(size, m.Genome, packet, genome, fmt.Sprintf("leave out the letter %c, or give weights of larger sizes", letter))...)
		}
	}
	return errs
}

func validateWeights(m v1alpha1.FrameMix, packet v1alpha1.Packet, path *field.Path) field.ErrorList {
	if len(m.Weights) > maxWeights {
		return field.ErrorList{field.TooMany(path, len(m.Weights), maxWeights)}
	}
	var errs field.ErrorList
	for i, w := range m.Weights {
		at := path.Index(i)
		if w.Weight < 1 || w.Weight > maxWeight {
			errs = append(errs, field.Invalid(at.Child("weight"), w.Weight, fmt.Sprintf("give 1 to %d, or leave the size out", maxWeight)))
		}
		switch {
		case (w.FrameSize != 0) == (w.PacketSize != 0):
			errs = append(errs, field.Required(at, "give exactly one of frameSize and packetSize"))
		case w.PacketSize != 0:
			errs = append(errs, mixSize(frame.PacketFrame(int(w.PacketSize)), w.PacketSize, packet, at.Child("packetSize"), "change the packet size")...)
		default:
			errs = append(errs, mixSize(int(w.FrameSize), w.FrameSize, packet, at.Child("frameSize"), "change the frame size")...)
		}
	}
	return errs
}

// mixSize refuses a frame size that the headers do not fit into, or that is too
// large; given is what the profile says.
func mixSize(size int, given any, packet v1alpha1.Packet, path *field.Path, what string) field.ErrorList {
	least := frame.MinimumSize(packet)
	switch {
	case size < least:
		return field.ErrorList{field.Invalid(path, given, fmt.Sprintf("this makes frames of %d bytes, and these headers need at least %d (%s): %s", size, least, frame.DescribeMinimum(packet), what))}
	case size > frame.MaxSize:
		return field.ErrorList{field.Invalid(path, given, fmt.Sprintf("this makes frames of %d bytes, and the largest frame is %d: %s", size, frame.MaxSize, what))}
	}
	return validateWords(packet, size, given, path)
}

// validateMixesOn refuses mixes that the engine cannot send on these ports, and
// tests that do not measure mixes. The profile is valid for itself.
func validateMixesOn(b *v1alpha1.Benchmark, profile Section, bed *v1alpha1.TestBed, ports []Port, engine traffic.Capabilities) field.ErrorList {
	all := mixes(profile.TrafficProfile)
	if len(all) == 0 {
		return nil
	}
	var errs field.ErrorList
	copies := 1
	for _, test := range b.Spec.Tests {
		if m, ok := methodOf(test); ok && m.Mixes {
			copies = max(copies, m.Copies)
		}
	}
	flows := profile.streams(ports)
	most := min(engine.MaxStreams, 1<<16)
	for i, m := range all {
		path := profile.mixPath(i)
		for _, c := range m.Mix {
			if c.Size < engine.MinFrameSize || c.Size > engine.MaxFrameSize {
				errs = append(errs, field.Invalid(path, m.Name, fmt.Sprintf(
					"the mix has frames of %d bytes, and engine %s of test bed %s sends %d to %d: change the mix, or choose a bed with another engine",
					c.Size, bed.Spec.Engine.Kind, bed.Name, engine.MinFrameSize, engine.MaxFrameSize)))
			}
		}
		if n := len(flows) * len(m.Mix) * copies; n > most {
			errs = append(errs, field.Invalid(path, m.Name, fmt.Sprintf(
				"the %d sizes of the mix make %d streams on the %s, and engine %s takes at most %d: use fewer sizes, or a bed with fewer ports",
				len(m.Mix), n, onBed(ports, bed), bed.Spec.Engine.Kind, most)))
		}
		if speed, ok := inexact(m, flows, ports, copies); !ok {
			errs = append(errs, field.Invalid(path, m.Name, fmt.Sprintf(
				"the ratio of the mix cannot be kept exactly at %s: give smaller weights", speed)))
		}
	}
	return errs
}

// inexact looks for a stream whose rate may not fit the 64 bits of a schedule at
// some load, and names the speed of its port.
func inexact(m Mix, flows []Stream, ports []Port, copies int) (speed v1alpha1.BitRate, ok bool) {
	type key struct{ speed, part int64 }
	seen := map[key]bool{}
	for _, s := range flows {
		k := key{ports[s.Tx].BitsPerSecond, max(s.Part, 1) * int64(copies)}
		if seen[k] {
			continue
		}
		seen[k] = true
		if !exact(m.WireBits(), k.speed, k.part) {
			return ports[s.Tx].Speed, false
		}
	}
	return "", true
}

// exact reports whether the rate of frames of so many bits, by which a part of a speed is
// divided, fits the 64 bits of a schedule at any load. The bound is that of loads that
// have nothing in common with the denominator.
func exact(bits, speed, part int64) bool {
	// A rate in frames/ns is speed*ppm*weight / (10^6 * 10^9 * bits * part).
	const perNano = 1_000_000_000_000_000
	common := new(big.Int).GCD(nil, nil, big.NewInt(speed), big.NewInt(perNano))
	bound := new(big.Int).Mul(big.NewInt(bits), big.NewInt(part))
	bound.Mul(bound, big.NewInt(perNano)).Quo(bound, common)
	return bound.Cmp(big.NewInt(math.MaxInt64)) <= 0
}

// validateMixMethods refuses tests that need frames of one size.
func validateMixMethods(b *v1alpha1.Benchmark, profile *v1alpha1.TrafficProfile) field.ErrorList {
	var errs field.ErrorList
	has, instead := severalSizes(profile)
	if has == "" {
		return nil
	}
	for i, test := range b.Spec.Tests {
		m, ok := methodOf(test)
		if !ok || m.Mixes {
			continue
		}
		reason := "this method needs frames of one size"
		if m.OneSize != "" {
			reason += ": " + m.OneSize
		}
		errs = append(errs, field.Invalid(field.NewPath("spec", "tests").Index(i).Child(m.Member), test.Name, fmt.Sprintf(
			"%s, and profile %s has %s: use a profile without %s for this test", reason, profile.Name, has, instead)))
	}
	return errs
}

// severalSizes returns the part of a profile that makes frames of several sizes in one row,
// and the fields to leave out; empty if each row has one size.
func severalSizes(profile *v1alpha1.TrafficProfile) (has, instead string) {
	for _, f := range profile.Spec.Flows {
		if !f.FollowsRow() {
			return "flow " + f.Name + " with a size of its own", "frameSize and frameMix of flows"
		}
	}
	if all := profile.Spec.FrameMixes; len(all) > 0 {
		return "the mix " + all[0].Name, "frameMixes"
	}
	return "", ""
}
