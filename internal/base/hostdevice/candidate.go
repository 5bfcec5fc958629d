package hostdevice

// Candidate is an interface of the calling thread's network namespace.
type Candidate struct {
	Name string
	// Megabits is the speed of the link in Mbit/s; 0 where it is not known, as of a link
	// that is down.
	Megabits int64
	// Why is the reason why a run cannot have the interface; empty if it can.
	Why string
}
