package routing

import (
	"context"
	"fmt"
	"time"
)

// Speaker holds the tester's sessions on the ports of one host. Its methods may be
// called at the same time for different sessions; calls for one session come one after
// the other. Every call ends when its context does.
type Speaker interface {
	// Open replaces all sessions by these, and returns once all are established. It fails
	// with *DownError when one of them is not when ctx ends, or is refused for good.
	Open(ctx context.Context, sessions []Session) error
	// Announce sends the routes of sets on a session, in their order. It returns when the
	// last message has been handed to the connection. A session that is down fails it
	// with *DownError.
	Announce(ctx context.Context, session string, sets []Routes) (Sent, error)
	// Withdraw takes the routes of sets back, as Announce announces them.
	Withdraw(ctx context.Context, session string, sets []Routes) (Sent, error)
	// Await waits until a session has learned exactly what want contains. It fails with
	// *UnlearnedError, which contains what it has learned, if ctx ends before that.
	Await(ctx context.Context, session string, want Table) (Learnt, error)
	// Learnt returns what the device currently advertises on a session.
	Learnt(ctx context.Context, session string) (Learnt, error)
	// Refresh asks the device by ROUTE-REFRESH (RFC 2918) for all routes of a session once
	// more, and waits until every one that the session has learned has come again. It
	// fails with *UnlearnedError, whose Got contains the routes that came again, if ctx
	// ends before that, and with *DownError if the session is down or goes down.
	Refresh(ctx context.Context, session string) (Refreshed, error)
	// States returns the states of the sessions, in the order in which they were opened.
	States(ctx context.Context) ([]State, error)
	// Close ends all sessions with a CEASE notification.
	Close() error
}

// Sent contains the times and counts of an announcement or a withdrawal.
type Sent struct {
	// First and Last are the times at which the first and the last message were handed to
	// the connection, in nanoseconds of the clock of the port's host, as in
	// traffic.Moments.
	First, Last uint64
	// Routes and Messages that were sent, and their Bytes.
	Routes, Messages, Bytes uint64
	// Own is the time that the tester needed for itself: building the messages. The rest
	// of the time is the device's, which reads them.
	Own time.Duration
}

// Table is a number of routes with a digest of them. The zero Table is an empty one.
type Table struct {
	// Routes of all families together.
	Routes uint64
	// Digest is the sum, modulo 2^64, of the digests of the routes: of family, prefix, AS
	// path, MED and communities. It does not depend on order. Next hops, labels and path
	// identifiers are not in it, as the device chooses those that it advertises.
	Digest uint64
}

// Learnt contains what a session has learned from the device.
type Learnt struct {
	Table
	// Last is the time at which the last UPDATE message was read, in nanoseconds of the
	// clock of the port's host; 0 if there was none.
	Last uint64
	// Updates and Withdrawn are the total numbers of routes that came and that were
	// withdrawn.
	Updates, Withdrawn uint64
	// Looped is the number of received routes whose AS path contains the tester's own
	// number: the device sends back what it received. They are not learned (RFC 4271,
	// 9.1.2).
	Looped uint64
}

// Refreshed contains the routes that a device has sent again, and the times. Times are in
// nanoseconds of the clock of the port's host.
type Refreshed struct {
	// Table are the routes that came again.
	Table
	// Asked is the time at which ROUTE-REFRESH was handed to the connection, and Last the
	// time at which the last of the routes had arrived; 0 if none did.
	Asked, Last uint64
}

// State is the state of a session.
type State struct {
	// Session by its name.
	Session string
	// Established reports whether routes can be exchanged.
	Established bool
	// Since is the time at which Established last changed, in nanoseconds of the clock of
	// the port's host.
	Since uint64
	// Flaps is the number of times the session was established and went down since Open
	// returned.
	Flaps int
	// Cause of the last time it went down, or why it does not come up; empty when
	// neither is so. It names the NOTIFICATION with its code and subcode.
	Cause string
}

// Host is implemented by engines that have a Speaker of their own.
type Host interface {
	// Speaker is the same for all calls.
	Speaker() Speaker
}

// DownError reports that a session is not established.
type DownError struct {
	// Protocol of the session; empty for BGP.
	Protocol Protocol
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
	return fmt.Sprintf("%v session %s on port %s is down: %s", e.Protocol, e.Session, e.Port, e.Cause)
}

// UnlearnedError reports that the device did not advertise the expected routes.
type UnlearnedError struct {
	// Protocol of the session; empty for BGP.
	Protocol Protocol
	// Session by its name.
	Session string
	// Want is the expected table, and Got the table that the session has learned.
	Want, Got Table
}

// Error describes how many routes are missing or too many, or that they differ.
func (e *UnlearnedError) Error() string {
	switch {
	case e.Got.Routes < e.Want.Routes:
		return fmt.Sprintf("%v session %s has learnt %d of %d routes", e.Protocol, e.Session, e.Got.Routes, e.Want.Routes)
	case e.Got.Routes > e.Want.Routes:
		return fmt.Sprintf("%v session %s has learnt %d routes, %d more than were announced", e.Protocol, e.Session, e.Got.Routes, e.Got.Routes-e.Want.Routes)
	}
	return fmt.Sprintf("%v session %s has learnt all %d routes, but prefixes or attributes of them are not those that were announced", e.Protocol, e.Session, e.Want.Routes)
}
