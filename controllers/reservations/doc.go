// Package reservations shows what is reserved, and hands out the connection data of beds to those
// who have reserved them.
package reservations
