package plan

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/traffic"
	"nodrop.dev/nodrop/internal/workload"
)

// Method contains the part of a measuring method that a plan needs. Every method defines it
// in its own file, in package method.
type Method struct {
	// Name of the method in result rows, and Further names of rows that it makes
	// besides.
	Name    v1alpha1.Method
	Further []v1alpha1.Method
	// Member is the name of the method's member of the union of tests.
	Member string
	// Given reports whether a test asks for the method.
	Given func(v1alpha1.Test) bool
	// Validate reports what the schema cannot say; path is that of the member. It
	// may be nil.
	Validate func(test v1alpha1.Test, path *field.Path) field.ErrorList
	// Load is the field load of a test, and Loads the field loads, whose values may be the word
	// throughput; nil when the method has no such field.
	Load  func(v1alpha1.Test) v1alpha1.Load
	Loads func(v1alpha1.Test) []v1alpha1.Load
	// Bounds are the loads of a test that have an amount; nil when the method has none.
	Bounds func(v1alpha1.Test) []Bound
	// Together reports loads of a test that do not go together at one frame size; path
	// is that of the member. It may be nil.
	Together func(test v1alpha1.Test, at Scale, path *field.Path) field.ErrorList
	// Steps are the steps of a test at one frame size, where at says what rates are of
	// line rate; the zero Scale when only their number and names matter. Test, Size and
	// Source are filled in, and so are a Method that is not given and a Duration of 0.
	// The time to settle and to rest is added to Duration for each of the Trials.
	Steps func(test v1alpha1.Test, at Scale) []Step
	// Rising reports whether the steps of a size run from the lowest load to the highest, and
	// the load throughput, which is not known yet, last.
	Rising bool
	// FindsThroughput reports whether the rows tell what the load throughput means for the
	// tests after it.
	FindsThroughput bool
	// AfterThroughput reports whether a throughput test must stand before.
	AfterThroughput bool
	// Latency reports whether the method is about latency, which the engine must measure
	// between all senders and receivers.
	Latency bool
	// TestsLatency reports whether a test is about latency, of a method of which not all are; nil for
	// the others.
	TestsLatency func(v1alpha1.Test) bool
	// Ordering reports whether the engine must count reordered frames, ArrivalTimes that it
	// must know when frames arrive, Gaps where in a stream frames were lost, and
	// Ethernet that the method sends frames without a network layer.
	Ordering, ArrivalTimes, Gaps, Ethernet bool
	// Mixes reports whether the method measures mixes of frame sizes. Profiles with mixes
	// are refused for all others, for the reason OneSize where there is one.
	Mixes   bool
	OneSize string
	// Frameless means that the method measures no test frames: a test makes its rows once, and
	// not for each size.
	Frameless bool
	// Workload means that the method measures applications of hosts on the ports, which a workload
	// engine runs.
	Workload bool
	// NextToHosts returns the size in bytes of the frames that a test sends next to its hosts, and the names of the field
	// with it below the member; 0 if the test sends none. It is nil for methods without such frames.
	NextToHosts func(v1alpha1.Test) (size int32, at []string)
	// Copies is the number of streams that the method makes of each at once; 0 means 1.
	Copies int
	// Topology contains what the method requires of the bed if its streams are its own; nil
	// if it uses the streams of the profile's pattern.
	Topology *Topology
	// WholeDevice describes what the method does to the device as a whole, or to a part that
	// the device has once: "resets the device". Such a method is refused on a bed that is a
	// port group of the device. Empty if other ports of the device do not matter, as far as
	// forwarding shows.
	WholeDevice string
	// BGP reports whether the method is about sessions or routes of BGP. It is refused on a bed
	// with LDP sessions.
	BGP bool
	// Fits reports why the test cannot be run in a setting; path is that of the
	// member. It may be nil.
	Fits func(test v1alpha1.Test, in Setting, path *field.Path) field.ErrorList
}

var methods []Method

// Register makes a method known. Package method calls it for each method of its list before
// main begins; a program that plans must import that package. It panics if the name or the
// member is known already.
func Register(m Method) {
	for _, name := range append([]v1alpha1.Method{m.Name}, m.Further...) {
		for _, known := range methods {
			if known.Member == m.Member || known.Name == name || slices.Contains(known.Further, name) {
				panic(fmt.Sprintf("method %s (member %s) is registered twice", name, m.Member))
			}
		}
	}
	methods = append(methods, m)
}

// methodOf finds the registered method that a test asks for.
func methodOf(test v1alpha1.Test) (Method, bool) {
	for _, m := range methods {
		if m.Given(test) {
			return m, true
		}
	}
	return Method{}, false
}

// HostsOf returns the member of a test that runs applications of hosts on the ports; empty for other tests.
func HostsOf(test v1alpha1.Test) string {
	if m, ok := methodOf(test); ok && m.Workload {
		return m.Member
	}
	return ""
}

// IsWorkload reports whether a method measures applications of hosts on the ports.
func IsWorkload(name v1alpha1.Method) bool {
	return slices.ContainsFunc(methods, func(m Method) bool { return m.Workload && (m.Name == name || slices.Contains(m.Further, name)) })
}

// NeedHosts reports whether one of the tests runs applications of hosts on the ports.
func NeedHosts(tests []v1alpha1.Test) bool {
	return slices.ContainsFunc(tests, func(t v1alpha1.Test) bool { return HostsOf(t) != "" })
}

// HostPorts describes ports to an engine of applications.
func HostPorts(ports []Port, profile *v1alpha1.TrafficProfile) (all []workload.Port) {
	for _, p := range ports {
		one := workload.Port{Name: p.Name, Interface: p.Interface, Gateway: p.Gateway(false)}
		one.Address, _ = p.Address(false)
		for _, address := range p.HostAddresses(profile) {
			one.Taken = append(one.Taken, address.Addr())
		}
		all = append(all, one)
	}
	return all
}

// membersGiven counts the methods that a test asks for.
func membersGiven(test v1alpha1.Test) int {
	given := 0
	for _, m := range methods {
		if m.Given(test) {
			given++
		}
	}
	return given
}

// SendsNextToHosts reports whether a test sends frames of the profile's packet next to its hosts.
func (m Method) SendsNextToHosts(test v1alpha1.Test) bool {
	if m.NextToHosts == nil {
		return false
	}
	size, _ := m.NextToHosts(test)
	return size > 0
}

// members names all methods as a test gives them.
func members() []string {
	var names []string
	for _, m := range methods {
		names = append(names, m.Member)
	}
	return names
}

// validate reports what is wrong with a test of the method.
func (m Method) validate(test v1alpha1.Test, throughputBefore bool, path *field.Path) field.ErrorList {
	errs := validateLoads(m.loads(test, path), throughputBefore)
	if m.Bounds != nil {
		errs = append(errs, validateBounds(m.Bounds(test), path)...)
	}
	if m.AfterThroughput && !throughputBefore {
		errs = append(errs, field.Invalid(path, test.Name, "no throughput test stands before this test, whose loads follow from its result: add one before it"))
	}
	if m.Validate != nil {
		errs = append(errs, m.Validate(test, path)...)
	}
	return errs
}

// loadField is a load of a test, and its path.
type loadField struct {
	load v1alpha1.Load
	path *field.Path
}

// loads returns the loads of a test that may be the word throughput; path is the path of the member.
func (m Method) loads(test v1alpha1.Test, path *field.Path) []loadField {
	var fields []loadField
	if m.Load != nil {
		fields = append(fields, loadField{m.Load(test), path.Child("load")})
	}
	if m.Loads != nil {
		for i, load := range m.Loads(test) {
			fields = append(fields, loadField{load, path.Child("loads").Index(i)})
		}
	}
	return fields
}

// AtLoad makes a step of one trial at a load. The trial is certain where the load is: none
// is run at a throughput of 0.
func AtLoad(load v1alpha1.Load, d time.Duration) Step {
	s := Step{Load: load, TrialDuration: d, Trials: 1}
	if load != v1alpha1.LoadThroughput {
		s.Amount, _ = AmountOf(load)
		s.LoadPPM = s.Amount.PPM
		s.Certain = d
	}
	return s
}

// RowsPerSize returns the maximum number of rows of a test at one frame size in one variant.
func RowsPerSize(test v1alpha1.Test) int { return len((Plan{}).steps(test, []Size{Bytes(64)})) }

// Setting is in what a test is run.
type Setting struct {
	// Bed on which it is run.
	Bed *v1alpha1.TestBed
	// Profile is the name of the traffic profile, and Packet its packet.
	Profile string
	Packet  v1alpha1.Packet
	// Engine contains the capabilities of the bed's engine.
	Engine traffic.Capabilities
	// Ports of the bed, and the streams that the profile makes between them.
	Ports   []Port
	Streams []Stream
	// Sessions of the bed, and what they announce.
	Sessions      []Session
	Announcements []Announcement
}

// validateSetting refuses tests that do not fit the traffic or the bed.
func validateSetting(b *v1alpha1.Benchmark, in Setting) field.ErrorList {
	var errs field.ErrorList
	for i, test := range b.Spec.Tests {
		m, ok := methodOf(test)
		path := field.NewPath("spec", "tests").Index(i).Child(m.Member)
		switch {
		case !ok:
		case m.BGP && overLDP(in.Sessions):
			errs = append(errs, needsBGP(in, path))
		case m.Fits != nil:
			errs = append(errs, m.Fits(test, in, path)...)
		}
	}
	return errs
}
