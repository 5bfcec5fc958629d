// Package allocation leases beds to benchmarks: it keeps a view of beds, benchmarks, reservations
// and policies, decides by package queue who gets which bed, and shows each waiting benchmark its
// place.
package allocation
