// Package record keeps the finished trials of a row in compact form, for the log of the row. It
// bounds the size of the log: a row with hundreds of trials must fit into an object of the API.
package record
