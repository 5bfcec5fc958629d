// Package traffic defines what a traffic engine is: the Generator interface,
// the streams it is given and the measurement it returns.
//
// A trial is: start, hold, stop, settle, read (RFC 2544 section 23). Counters are never read
// while frames are in flight. Intended load is the requested load, offered load is the load
// that left the tester (RFC 2285 section 3.5); they are kept separate everywhere.
//
// The same interface is implemented by an engine that owns ports of this
// machine (xdp), by a modeled one (sim), by the client of an agent in another
// pod, and by the fleet that joins several agents into one. Method code sees
// only this interface.
//
// A microflow is one combination of addresses and ports in the ranges of a stream. Engines that
// are a MicroflowCounter count each microflow of a stream with Track at every receiving port, by
// the sequence number in the signature, which a device cannot change. After a trial,
// SumMicroflows returns how many microflows were delivered, and Microflows visits them one by
// one: how many frames of each a port received, which was the last, and with TrackTimes when
// the first arrived. Headers.Microflow returns the addresses of a microflow by its number.
package traffic
