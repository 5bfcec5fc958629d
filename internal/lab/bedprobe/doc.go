// Package bedprobe reads the interfaces of a bed on their node, and compares them with what the
// bed describes. The operator runs it in a pod with the network of the node, without a
// capability; the pod answers by its termination message.
package bedprobe
