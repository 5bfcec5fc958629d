package kit

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SetCondition sets one condition; its transition time moves only when its
// status does.
func SetCondition(all *[]metav1.Condition, now time.Time, generation int64, c metav1.Condition) {
	c.ObservedGeneration = generation
	c.Message = Bounded(c.Message)
	c.LastTransitionTime = metav1.NewTime(now)
	meta.SetStatusCondition(all, c)
}

// IsTrue reports whether a condition is true.
func IsTrue(all []metav1.Condition, kind string) bool { return meta.IsStatusConditionTrue(all, kind) }

// ReasonOf returns the reason of a condition, "" when it was never set.
func ReasonOf(all []metav1.Condition, kind string) string {
	if c := meta.FindStatusCondition(all, kind); c != nil {
		return c.Reason
	}
	return ""
}

// maxMessage bounds every message in a status, in bytes: a whole status stays below
// 32 KiB.
const maxMessage = 768

// Bounded cuts a message that is too long for a status.
func Bounded(message string) string {
	const cut = " ..."
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage-len(cut)], "") + cut
}

// Stamp is a time in messages.
func Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
