// Package look gathers from a cluster what package doctor judges, with the
// rights of whoever asks. What these rights do not allow is told as not known,
// with the name of the right that is missing.
package look
