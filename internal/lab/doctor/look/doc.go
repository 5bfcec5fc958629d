// Package look reads from a cluster the facts that package doctor judges, with the
// rights of the caller. What these rights do not allow is unknown, with the name of
// the missing right as the reason.
package look
