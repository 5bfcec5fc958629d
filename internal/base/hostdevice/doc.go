// Package hostdevice takes interfaces of this machine for a run without a cluster, and
// puts them back as they were, whatever happens to the run.
//
// Before anything is changed, a note is written with the state of every interface. The process
// of the run holds a lock next to it. The kernel ends the lock with the process, also with one
// that was killed. A note without a holder lists what is still to be put back: nodrop clean
// does that, and the next run before it begins. The network namespaces that the interfaces
// came from and were moved to are mounted next to the note. Without that a virtual interface
// would end with the namespace of the run, and a card would return to the first namespace
// without its settings.
//
// Putting back compares what is with what the note says and changes what differs, so that
// it can be repeated, and goes on where another attempt has ended.
package hostdevice
