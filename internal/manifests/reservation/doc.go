// Package reservation says which bed is kept for which reservation, and when.
//
// It is pure: everything follows from the objects and the time that is asked about. At
// every instant a bed belongs to the reservation that was created first among those of this
// bed and of beds that share an interface with it. A reservation that is removed therefore
// only gives time to others, and takes none from a reservation that has begun.
//
// Rules of recurrence are those of RFC 5545, as far as they count days.
package reservation
