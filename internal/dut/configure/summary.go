package configure

import (
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"nodrop.dev/nodrop/api/v1alpha1"
)

const (
	// maxAnswers and maxDrift are the numbers of answers and of differences in a summary, maxLine is the length
	// of one in bytes, and maxProblem is the length of the reason why a device cannot be read.
	maxAnswers = 16
	maxDrift   = 8
	maxLine    = 160
	maxProblem = 512
	// maxMessage is the length of a summary as JSON: a container passes it on in its termination message, which
	// has 4 KiB.
	maxMessage = 4000
)

// Summary returns a record in the terms of a result, with the differences of what was before from the base of the
// device. Commands without an answer are only counted. Answers are left out, the last ones first, as far as
// it takes to keep the summary below 4 KiB.
func (r *Record) Summary(l Language, base Configuration) *v1alpha1.DeviceConfiguration {
	out := &v1alpha1.DeviceConfiguration{
		Digest: r.AfterDigest, Before: r.BeforeDigest, Commands: int32(len(r.Answers)),
		Software: beginning(r.Software, maxLine), Sessions: int32(r.Sessions), DurationMs: r.Took.Milliseconds(),
	}
	out.Drift, _ = few(l.Differences(base, r.Before))
	for _, a := range r.Answers {
		if a.Text != "" && len(out.Answers) < maxAnswers {
			out.Answers = append(out.Answers, shortened(a.Command+": "+strings.Join(strings.Fields(a.Text), " ")))
		}
	}
	Shorten(out, out)
	return out
}

// Shorten leaves out answers of a summary, the last ones first, until a document that contains the summary has less than 4 KiB as JSON.
func Shorten(summary *v1alpha1.DeviceConfiguration, document any) {
	for len(summary.Answers) > 0 {
		if written, err := json.Marshal(document); err != nil || len(written) <= maxMessage {
			return
		}
		summary.Answers = summary.Answers[:len(summary.Answers)-1]
	}
}

// few returns the first differences, and the number of the others.
func few(differences []string) (some []string, more int) {
	for _, line := range differences[:min(len(differences), maxDrift)] {
		some = append(some, shortened(line))
	}
	return some, len(differences) - len(some)
}

// shortened returns the beginning of a line.
func shortened(line string) string { return beginning(line, maxLine) }

// beginning returns so many bytes of a text at most, cut between two characters.
func beginning(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// Comparison describes how what a device has differs from its base.
type Comparison struct {
	// Problem is why the device could not be read, or restored; empty if it was. Refused reports whether
	// another attempt does not help.
	Problem string `json:"problem,omitempty"`
	Refused bool   `json:"refused,omitempty"`
	// Differences from the base are the first, without secrets, and More is the number of the others.
	Differences []string `json:"differences,omitempty"`
	More        int      `json:"more,omitempty"`
}

// Compare describes the differences between what a device has and its base. An error is why the device
// could not be read, or restored.
func Compare(l Language, base, have Configuration, err error) Comparison {
	var c Comparison
	if err == nil {
		c.Differences, c.More = few(l.Differences(base, have))
		return c
	}
	var different *DifferentError
	var rejected *RejectedError
	switch {
	case errors.As(err, &different):
		c.Differences, c.More = few(different.Differences)
	case errors.As(err, &rejected):
		c.Differences = []string{shortened(err.Error())}
	default:
		c.Problem, c.Refused = beginning(err.Error(), maxProblem), errors.Is(err, ErrRefused)
	}
	return c
}
