// Package queue decides which waiting benchmark gets which bed.
//
// It is pure. A [Queue] holds what waits; [Queue.Decide] walks it once in order
// (priority, then first come) over a snapshot of the beds and returns who gets a bed
// now. Entries that can use the same beds under the same limits form a group:
// inside one decision a group that gets no bed gets none later either, so that a
// decision costs as much as it has groups and grants, not entries times beds.
//
// Rules of a decision:
//
//   - No bed is given twice, and no two beds that share an interface are in use
//     together.
//   - No inversion: a bed that shares an interface with a bed for which an earlier
//     entry waits is not given to a later entry. It would delay the earlier one.
//   - Work conserving: a bed that can be given to an entry under these rules is given.
//   - An entry over one of its limits waits, and delays no other entry.
//   - A bed is given to an entry only if the longest time for which the entry may have it
//     lies outside of all reservations, or in one slice of the reservation that it names.
//     An entry that waits for that delays no other one.
//   - The entries of a gang get their beds together, all or none, when the first of them
//     comes next. Until there is a bed for each of them, those that are free are kept for
//     the gang, and so is what is left of its limits.
//
// The optimistic lock under which the lease is written, and not this package, ensures
// that a bed never has two holders.
package queue
