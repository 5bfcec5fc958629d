package selection

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Bounds of a selector. The schema of the API has the same ones.
const (
	// MaxLabels is the maximum number of matchLabels, and of matchExpressions.
	MaxLabels = 16
	// MaxValues is the maximum number of values of one expression.
	MaxValues = 32
	// maxShown is the maximum size in bytes of a part of a selector in a message.
	maxShown = 128
)

// Problems returns what is wrong with a selector; nil for one that is absent.
func Problems(path *field.Path, s *metav1.LabelSelector) field.ErrorList {
	if s == nil {
		return nil
	}
	tooMany := func(path *field.Path, n, most int) field.ErrorList {
		return field.ErrorList{field.Invalid(path, n, fmt.Sprintf(
			"the selector has %d of these, and may have 0 to %d: give objects that belong together a label of their own, and select that", n, most))}
	}
	if n := len(s.MatchLabels); n > MaxLabels {
		return tooMany(path.Child("matchLabels"), n, MaxLabels)
	}
	if n := len(s.MatchExpressions); n > MaxLabels {
		return tooMany(path.Child("matchExpressions"), n, MaxLabels)
	}
	for i := range s.MatchExpressions {
		if n := len(s.MatchExpressions[i].Values); n > MaxValues {
			return tooMany(path.Child("matchExpressions").Index(i).Child("values"), n, MaxValues)
		}
	}
	if _, err := metav1.LabelSelectorAsSelector(s); err != nil {
		return field.ErrorList{field.Invalid(path, Format(s), fmt.Sprintf(
			"%s: use matchLabels, or matchExpressions with the operators In, NotIn, Exists and DoesNotExist; a value has at most 63 characters", shortened(err.Error())))}
	}
	return nil
}

// Compile parses a selector, so that it can be compared with the labels of many objects. An absent
// or malformed selector selects nothing.
func Compile(s *metav1.LabelSelector) labels.Selector {
	if s == nil {
		return labels.Nothing()
	}
	parsed, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return labels.Nothing()
	}
	return parsed
}

// Format returns the text of a selector for a message, shortened if it is long.
func Format(s *metav1.LabelSelector) string { return shortened(metav1.FormatLabelSelector(s)) }

func shortened(text string) string {
	if runes := []rune(text[:min(len(text), 4*maxShown)]); len(runes) > maxShown {
		return string(runes[:maxShown]) + "..."
	}
	return text
}
