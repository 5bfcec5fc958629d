package doctor

// Engine is a traffic engine in one way of using it, or what starts virtual
// devices.
type Engine string

// Engines that are checked.
const (
	Sim          Engine = "sim"
	XDP          Engine = "xdp"
	TRexSoftware Engine = "trex-software"
	TRex         Engine = "trex"
	Containerlab Engine = "containerlab"
	// Machine starts emulated machines on the computer itself, and in no cluster.
	Machine Engine = "machine"
)

// Engines are the ones of clusters, in the order of the report.
var Engines = []Engine{Sim, XDP, TRexSoftware, TRex, Containerlab}

// Title is the engine's name for people.
func (e Engine) Title() string {
	switch e {
	case TRexSoftware:
		return "trex (software)"
	case TRex:
		return "trex (line rate)"
	case Containerlab:
		return "containerlab devices"
	case Machine:
		return "emulated machines"
	}
	return string(e)
}

// heading of the engine's table.
func (e Engine) heading() string {
	switch e {
	case Containerlab:
		return "Containerlab devices"
	case Machine:
		return "Emulated machines on this computer"
	}
	return "Engine " + e.Title()
}

// Level is the result of a check.
type Level string

const (
	// Missing means that the engine does not work without it.
	Missing Level = "Missing"
	// Unknown means that it could not be checked.
	Unknown Level = "Unknown"
	// Warning means that the engine works without it, but less well.
	Warning Level = "Warning"
	// Good means that it is present.
	Good Level = "Good"
)

// Finding is the result of one check.
type Finding struct {
	// Engine that the finding is about.
	Engine Engine `json:"engine"`
	// Node that was checked; "" for the cluster.
	Node string `json:"node,omitempty"`
	// Check that found it.
	Check string `json:"check"`
	// Level is the result of the check.
	Level Level `json:"level"`
	// Seen describes the observed state.
	Seen string `json:"seen"`
	// Advice describes the action to take; "" when none is needed.
	Advice string `json:"advice,omitempty"`
}

// verdict is a finding without its engine and node. The zero value says that the check
// does not apply.
type verdict struct {
	level        Level
	seen, advice string
}

func good(seen string) verdict            { return verdict{Good, seen, ""} }
func missing(seen, advice string) verdict { return verdict{Missing, seen, advice} }
func warning(seen, advice string) verdict { return verdict{Warning, seen, advice} }
func unknown(r Reason) verdict            { return verdict{Unknown, r.Why, r.Advice} }
