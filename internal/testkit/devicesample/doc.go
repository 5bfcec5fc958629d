// Package devicesample has the samples whose devices NoDrop configures, with a real device for each, a fault of it, and
// what rows have to show. Tests run them by nodrop run and in a cluster.
package devicesample
