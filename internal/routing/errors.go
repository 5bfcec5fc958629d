package routing

import "fmt"

// DownError reports that a session is not established.
type DownError struct {
	// Session by its name, and the port that it runs over.
	Session, Port string
	// Cause is why: a NOTIFICATION, the hold timer, BFD, a refused connection.
	Cause string
	// Final reports whether trying again does not help, as the two sides are configured
	// differently.
	Final bool
}

// Error names the session and the cause.
func (e *DownError) Error() string {
	return fmt.Sprintf("BGP session %s on port %s is down: %s", e.Session, e.Port, e.Cause)
}

// UnlearnedError reports that the device did not advertise the expected routes.
type UnlearnedError struct {
	// Session by its name.
	Session string
	// Want is the expected table, and Got the table that the session has learned.
	Want, Got Table
}

// Error describes how many routes are missing or too many, or that they differ.
func (e *UnlearnedError) Error() string {
	switch {
	case e.Got.Routes < e.Want.Routes:
		return fmt.Sprintf("BGP session %s has learnt %d of %d routes", e.Session, e.Got.Routes, e.Want.Routes)
	case e.Got.Routes > e.Want.Routes:
		return fmt.Sprintf("BGP session %s has learnt %d routes, %d more than were announced", e.Session, e.Got.Routes, e.Got.Routes-e.Want.Routes)
	}
	return fmt.Sprintf("BGP session %s has learnt all %d routes, but prefixes or attributes of them are not those that were announced", e.Session, e.Want.Routes)
}
