package controllers

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// setCondition sets one condition; its transition time moves only when its
// status does.
func setCondition(all *[]metav1.Condition, now time.Time, generation int64, c metav1.Condition) {
	c.ObservedGeneration = generation
	c.LastTransitionTime = metav1.NewTime(now)
	meta.SetStatusCondition(all, c)
}

func isTrue(all []metav1.Condition, kind string) bool { return meta.IsStatusConditionTrue(all, kind) }

// reasonOf returns the reason of a condition, "" when it was never set.
func reasonOf(all []metav1.Condition, kind string) string {
	if c := meta.FindStatusCondition(all, kind); c != nil {
		return c.Reason
	}
	return ""
}

// elapsed is how long a condition has had its status, 0 when it was never set.
func elapsed(all []metav1.Condition, kind string, now time.Time) time.Duration {
	c := meta.FindStatusCondition(all, kind)
	if c == nil {
		return 0
	}
	return now.Sub(c.LastTransitionTime.Time)
}
