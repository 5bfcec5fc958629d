// Package share computes what each team is due of the beds, and what it has had.
//
// It is pure. The beds of a lab are divided into pools, whose beds replace each other.
// At each moment the beds of a pool are divided between the teams that want some, by
// weight and with no team given more than it wants: weighted max-min fairness, as in
// generalized processor sharing (Parekh and Gallager, 1993). That is what a team is due.
// A [Book] adds it up over a sliding window, next to what the team has had. The
// difference, divided by the weight, orders teams in the queue.
//
// So a team that uses beds that no other team wants borrows them, and owes nothing for
// it later: they are due to it as long as nothing else wants them. What a team does not
// want is not due to it, and cannot be saved up.
package share
