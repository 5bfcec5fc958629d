package method

import "time"

// RouteCounter is the routing software of a device whose routes can be counted.
type RouteCounter interface {
	// Routes returns the number of routes in the kernel of the device, and whether it is
	// known. It may be called concurrently with other methods of the software.
	Routes() (n int64, known bool)
}

// countShare is the part of the time, one in so many, that counting routes may take: the
// kernel goes through all of them.
const countShare = 100

// look reads what the routing software of the device shows at the end of an interval.
func (l *Lab) look(d *DeviceInterval) {
	if r, can := l.router.(MemoryReader); can {
		if n, known := r.Memory(); known {
			d.Memory = &n
		}
	}
	r, can := l.router.(RouteCounter)
	clock := l.gen.Clock()
	began := clock.Now()
	if !can || began.Before(l.watched.countAgain) {
		return
	}
	if n, known := r.Routes(); known {
		d.Routes = &n
	}
	now := clock.Now()
	l.watched.countAgain = now.Add(min(now.Sub(began)*countShare, time.Minute))
}
