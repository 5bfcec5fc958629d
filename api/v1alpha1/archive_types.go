package v1alpha1

// Condition type and reasons of a finished Benchmark in a lab with an archive.
// Without an archive the condition is absent.
const (
	// ConditionArchived reports whether the whole result is in the archive: it is there if
	// status.results.archive names it.
	ConditionArchived = "Archived"
	// ReasonArchived means that the result is in the archive.
	ReasonArchived = "Archived"
	// ReasonArchiveUnavailable means that the archive could not be reached, or refused
	// the result. It is tried again until it succeeds; until then the benchmark is not
	// deleted.
	ReasonArchiveUnavailable = "ArchiveUnavailable"
	// ReasonArchiveConflict means that the archive has another document in the place
	// of the result; the message names it. Move it away.
	ReasonArchiveConflict = "ArchiveConflict"
	// ReasonResultUnreadable means that the stored result could not be read. It is
	// tried again.
	ReasonResultUnreadable = "ResultUnreadable"
)

// FinalizerArchive keeps a Benchmark, the parts of its result and its snapshots
// until the result is in the archive. It is set only in a lab with an archive; a
// lab without one removes it.
const FinalizerArchive = "nodrop.dev/archive"

// LabelUnarchived with the value "true" is on parts of results and snapshots that
// have FinalizerArchive, so that they can be selected.
const LabelUnarchived = "nodrop.dev/unarchived"
