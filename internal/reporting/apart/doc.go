// Package apart reads and writes large results in a process of its own, whose memory is bounded:
// the document of a large result takes several times its size in memory, and every writer of the
// archive can choose that size. A process that ends is a failure of its task, and harms nothing
// else.
package apart
