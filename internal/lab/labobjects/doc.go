// Package labobjects builds what the operator puts into the lab's namespace for one
// benchmark: traffic pods, the runner, the pods that start and stop a virtual
// device, their network attachments and their secrets.
//
// Every function is pure: benchmark and bed in, object out. Owner references
// cannot cross namespaces, so everything carries the labels of Labels and is
// found again, and removed, by them.
package labobjects
