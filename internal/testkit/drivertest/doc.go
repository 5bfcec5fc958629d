// Package drivertest takes a driver and a real device through everything that may happen to a change of
// configuration: each driver passes the same cases.
package drivertest
