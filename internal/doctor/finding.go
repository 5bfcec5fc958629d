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
)

// Engines are all of them, in the order of the report.
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
	}
	return string(e)
}

// heading of the engine's table.
func (e Engine) heading() string {
	if e == Containerlab {
		return "Containerlab devices"
	}
	return "Engine " + e.Title()
}

// Level says how a check ended.
type Level string

const (
	// Missing says that the engine does not work without it.
	Missing Level = "Missing"
	// Unknown says that it could not be checked.
	Unknown Level = "Unknown"
	// Warning says that the engine works without, and less well.
	Warning Level = "Warning"
	// Good says that it is there.
	Good Level = "Good"
)

// Finding is what one check found.
type Finding struct {
	// Engine that the finding is about.
	Engine Engine `json:"engine"`
	// Node that was checked; "" for the cluster.
	Node string `json:"node,omitempty"`
	// Check that found it.
	Check string `json:"check"`
	// Level says how it ended.
	Level Level `json:"level"`
	// Seen is what was seen.
	Seen string `json:"seen"`
	// Advice is what to do; "" when nothing is to be done.
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
