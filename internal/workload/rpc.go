package workload

import (
	"fmt"
	"slices"
	"time"
)

// Rounds is the number of equal parts into which the requests of an RPC are divided. The parts alternate with
// parts between hosts without a device, so that both see the same machine.
const Rounds = 20

// intervalRank is the rank from below and from above of the values that bound the median of Rounds values: the
// interval has a confidence of 95.8 % by the sign test, 1 - 2 P(B < 6) for B binomial with 20 and 1/2.
const intervalRank = 6

// RPCRequest describes requests of a client that a server answers. They follow each other on one connection.
type RPCRequest struct {
	// Client and Server are the names of their ports.
	Client, Server string
	// Bytes of each request, and of each response.
	Bytes int
	// Requests is the number of counted requests, at least Rounds. WarmUp is the number of requests before them that do not
	// count.
	Requests, WarmUp int
	// MTU of the hosts in bytes.
	MTU int
	// CongestionControl of the connections; empty for the default of the hosts.
	CongestionControl string
	// BackgroundPPM is the load of test frames meanwhile in parts per million of line rate. Only an engine that
	// models the device uses it.
	BackgroundPPM int64
}

// Round returns the number of requests of a round: the first ones have one more if they cannot be divided evenly.
func (r RPCRequest) Round(n int) int { return int(Stripe(int64(r.Requests), Rounds)[n]) }

// RPC is the result of requests.
type RPC struct {
	// RoundTrips are the times from the first byte of a request to the last byte of its response at the client, by
	// round.
	RoundTrips [][]time.Duration
	// BackToBack are the same times between hosts with a direct link in place of the device, by round; nil without such a
	// link.
	BackToBack [][]time.Duration
	// NoReference explains why there are no times without the device; empty if there are.
	NoReference string
	// Retransmissions is the number of segments that client and server sent again through the device.
	Retransmissions uint64
	// Settings that were in force.
	Settings Settings
	// Limits of the hosts over all requests.
	Limits Limits
}

// Differences describes how settings differ from a request.
func (r RPCRequest) Differences(s Settings) []string {
	return s.differences(r.CongestionControl, r.MTU)
}

// Validate reports a request that no engine can run.
func (r RPCRequest) Validate() error {
	switch {
	case r.Requests < Rounds:
		return fmt.Errorf("%d requests were asked for: give %d or more", r.Requests, Rounds)
	case r.Bytes < 1:
		return fmt.Errorf("requests of %d bytes were asked for: give 1 or more", r.Bytes)
	case r.Client == r.Server:
		return fmt.Errorf("client and server are on port %s: give two ports", r.Client)
	}
	return nil
}

// Estimate is a time with an interval of 95.8 % confidence, in which no distribution is assumed.
type Estimate struct{ Value, Low, High time.Duration }

// Median returns the median of all times. Its interval is of the medians of the rounds: times that follow
// each other are alike, and the rounds are not.
func Median(rounds [][]time.Duration) Estimate {
	var medians []time.Duration
	for _, one := range rounds {
		medians = append(medians, Percentile(one, 50))
	}
	return around(Percentile(slices.Concat(rounds...), 50), medians)
}

// Share returns by how much the median through a device is above the median back to back. Its interval is of the
// differences between the medians of the rounds next to each other.
func Share(through, backToBack [][]time.Duration) Estimate {
	var differences []time.Duration
	for i := range min(len(through), len(backToBack)) {
		differences = append(differences, Percentile(through[i], 50)-Percentile(backToBack[i], 50))
	}
	return around(Percentile(slices.Concat(through...), 50)-Percentile(slices.Concat(backToBack...), 50), differences)
}

// around returns a value with the interval of the median of values of the rounds. It contains the value.
func around(value time.Duration, rounds []time.Duration) Estimate {
	if len(rounds) < 2*intervalRank {
		return Estimate{value, value, value}
	}
	slices.Sort(rounds)
	return Estimate{value, min(value, rounds[intervalRank-1]), max(value, rounds[len(rounds)-intervalRank])}
}
