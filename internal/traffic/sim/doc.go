// Package sim is a traffic engine without traffic: a modeled tester and device
// in simulated time. A trial costs no time and its counts are exact, so that
// methods, operator and reports can be tested with any number of ports, and a
// published result can be asked for again.
//
// The model is a table, one row per frame size; docs/simulation.md describes its
// columns and every rule of the behavior in between.
package sim
