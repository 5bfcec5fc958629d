package standalone

import (
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/base/hint"
	"nodrop.dev/nodrop/internal/base/version"
	"nodrop.dev/nodrop/internal/manifests/manifest"
	"nodrop.dev/nodrop/internal/measure/runner"
)

// rowsPath returns the file in which a run keeps finished rows: next to its output file, or in
// the cache directory of the user, under a name that depends on the named manifests.
func rowsPath(outputFile string, files []string, benchmark *v1alpha1.Benchmark) (string, error) {
	if outputFile != "" {
		return outputFile + ".rows", nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding a directory for finished rows: %w", err)
	}
	named := []any{benchmark.Namespace, benchmark.Name}
	for _, file := range files {
		if absolute, err := filepath.Abs(file); file != "-" && err == nil {
			file = absolute
		}
		named = append(named, file)
	}
	digest, err := runner.Digest(named...)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "nodrop", fmt.Sprintf("%s-%s.rows", benchmark.Name, digest[:12])), nil
}

// originOf returns the inputs that the rows are measured with on this machine.
func originOf(bundle *manifest.Bundle, calibration *v1alpha1.CalibrationStatus, inPlace bool) (runner.Origin, error) {
	origin := runner.Origin{Of: map[string]string{}}
	spec := bundle.Benchmark.Spec.DeepCopy()
	spec.Gates = nil // They are judged at the end, whatever measured the rows.
	spec.Variants, spec.ActiveDeadlineSeconds = nil, 0
	build, err := buildID()
	if err != nil {
		return origin, err
	}
	machine, err := machineName()
	if err != nil {
		return origin, err
	}
	for name, of := range map[string][]any{
		"the Benchmark":      {bundle.Benchmark.Namespace, bundle.Benchmark.Name, spec},
		"its variants":       {bundle.Benchmark.Spec.Variants},
		"the TrafficProfile": {bundle.Profile.Name, bundle.Profile.Spec},
		"the TestBed":        {bundle.Bed.Name, bundle.Bed.Spec},
		"the device model":   {bundle.Tables},
		"the calibration":    {calibration},
		"the flag in-place":  {inPlace},
		"the nodrop binary":  {version.String(), build},
		"the machine":        {machine},
	} {
		if origin.Of[name], err = runner.Digest(of...); err != nil {
			return origin, err
		}
	}
	return origin, nil
}

// buildID is different for every binary that the Go tool chain builds from other sources.
func buildID() (string, error) {
	file, err := elf.Open("/proc/self/exe")
	if err != nil {
		return "", fmt.Errorf("reading the build ID of this binary: %w", err)
	}
	defer file.Close()
	section := file.Section(".note.go.buildid")
	if section == nil {
		return "", nil
	}
	note, err := section.Data()
	if err != nil {
		return "", fmt.Errorf("reading the build ID of this binary: %w", err)
	}
	return hex.EncodeToString(note), nil
}

// machineName is the host's name with its kernel.
func machineName() (string, error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "", fmt.Errorf("asking for the name of the machine: %w", err)
	}
	return unix.ByteSliceToString(name.Nodename[:]) + " " + unix.ByteSliceToString(name.Release[:]), nil
}

// OpenRows prepares to keep the finished rows of a run; see keepRows.
func OpenRows(outputFile string, files []string, bundle *manifest.Bundle, calibration *v1alpha1.CalibrationStatus, inPlace, resume bool) (kept, left *runner.Kept, err error) {
	path, err := rowsPath(outputFile, files, &bundle.Benchmark)
	if err != nil {
		return nil, nil, hint.With(err, "name an --output-file")
	}
	origin, err := originOf(bundle, calibration, inPlace)
	if err != nil {
		return nil, nil, err
	}
	origin.Began, origin.Exact = metav1.Now(), time.Now().UTC()
	return keepRows(path, origin, resume)
}

// keepRows prepares to keep finished rows in a file. When a run is resumed they begin with
// those that are in it, which must be of the same origin. Otherwise left are those of an
// interrupted run, which the first row of this one replaces; nil when there are none.
func keepRows(path string, origin runner.Origin, resume bool) (kept, left *runner.Kept, err error) {
	kept = &runner.Kept{Path: path, Origin: origin}
	left, err = runner.ReadKept(path)
	switch {
	case !resume:
		return kept, left, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, hint.With(fmt.Errorf("--resume: no run of this benchmark was interrupted: there are no finished rows in %s", path),
			"give the same -f and --output-file as then, or run without --resume")
	case err != nil:
		return nil, nil, fmt.Errorf("--resume: %w", err)
	}
	if different := left.Origin.Differs(origin); len(different) > 0 {
		return nil, nil, hint.With(fmt.Errorf("--resume: %s changed since the %s in %s were measured (the run began %s), and rows of both would make one result",
			joinedByAnd(different), rowsCount(len(left.Rows)), path, DescribeMoment(left.Origin.Began)),
			"take the change back, or run without --resume, which measures all rows again")
	}
	kept.Origin, kept.Rows = left.Origin, left.Rows
	return kept, nil, nil
}

// ResumedNote notes in a result that it is of several runs. Now is when this one went on.
func ResumedNote(kept *runner.Kept, now time.Time) string {
	before := DescribeMoment(kept.Origin.Began)
	for _, at := range kept.Origin.Resumed {
		before += ", resumed " + DescribeMoment(at)
	}
	kept.Origin.Resumed = append(kept.Origin.Resumed, metav1.NewTime(now))
	return fmt.Sprintf("this run was resumed %s: %s had been measured by the run that began %s and did not end by itself",
		DescribeMoment(metav1.NewTime(now)), rowsCount(len(kept.Rows)), before)
}

// CloseRows ends the keeping of rows. Those of a run that did not end by itself stay.
func CloseRows(kept *runner.Kept, outcome v1alpha1.BenchmarkPhase, stderr io.Writer) {
	interrupted := outcome == v1alpha1.PhaseAborted || outcome == v1alpha1.PhaseError
	if err := kept.Close(interrupted); err != nil {
		fmt.Fprintln(stderr, "nodrop:", err)
	}
	if interrupted && kept.OnDisk() {
		fmt.Fprintf(stderr, "nodrop: %s kept in %s\nhint: the same command with --resume goes on with them\n", DescribeRows(len(kept.Rows)), kept.Path)
	}
}

// DescribeMoment returns a time for a person, in UTC.
func DescribeMoment(t metav1.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

func rowsCount(n int) string {
	if n == 1 {
		return "1 finished row"
	}
	return fmt.Sprintf("%d finished rows", n)
}

// DescribeRows returns how many finished rows there are, with the verb: "1 finished row is".
func DescribeRows(n int) string {
	if n == 1 {
		return "1 finished row is"
	}
	return rowsCount(n) + " are"
}

// joinedByAnd writes a list as people do.
func joinedByAnd(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
