package configure

import (
	"strings"
	"unicode/utf8"

	"nodrop.dev/nodrop/api/v1alpha1"
)

const (
	// maxAnswers is the number of answers in a summary, and maxAnswer the length of one in bytes: a summary is
	// passed on in the termination message of a container, which has 4 KiB.
	maxAnswers = 16
	maxAnswer  = 160
)

// Summary returns a record in the terms of a result. Commands without an answer are only counted.
func (r *Record) Summary() *v1alpha1.DeviceConfiguration {
	out := &v1alpha1.DeviceConfiguration{
		Digest: r.AfterDigest, Before: r.BeforeDigest, Commands: int32(len(r.Answers)),
		Sessions: int32(r.Sessions), DurationMs: r.Took.Milliseconds(),
	}
	for _, a := range r.Answers {
		if a.Text == "" || len(out.Answers) == maxAnswers {
			continue
		}
		out.Answers = append(out.Answers, shortened(a.Command+": "+strings.Join(strings.Fields(a.Text), " ")))
	}
	return out
}

// shortened returns the beginning of a text, cut between two characters.
func shortened(text string) string {
	if len(text) <= maxAnswer {
		return text
	}
	end := maxAnswer
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
