// Package fakeastf is a fake of a TRex v3.08 server in mode ASTF, for tests. It sends no packets: it works out from the clock
// what a server would have counted, for a device that passes connections up to a rate.
//
// Its answers have the shape of a recording: testdata/recorded.json has the first exchanges of each method of a session between
// the stock Python client of TRex and a TRex v3.08 server in software mode on packet sockets, as they were on the wire, without
// methods that this repository does not call and without repetitions. The recording has counters of a whole server under load,
// the values of a profile only at rest, and neither stop nor ping, service, set_vlan, set_l3, push_pkts or a capture: how the fake
// answers these follows the public source of the server and the recordings of mode STL.
package fakeastf
