package kit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// NoAnswer reports whether a failure is about reaching the API server: it does not show
// whether anything is left in the lab, and does not count as an attempt to clean up.
func NoAnswer(err error) bool {
	if err == nil {
		return false
	}
	var network net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.As(err, &network) ||
		apierrors.IsConflict(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err)
}

// NotCleanedUp describes how long a clean-up was tried, and what is left, or the hook that failed. The reason is
// for the condition Quarantined.
func NotCleanedUp(w *v1alpha1.Wait, left Remains) (reason, message string) {
	if left.Final {
		return v1alpha1.ReasonHookFailed, left.What
	}
	return v1alpha1.ReasonCleanUpFailed, fmt.Sprintf("not cleaned up by %d attempts in %s: %s", w.Attempts, Seconds(w.Seconds), left.What)
}

// SetQuarantine marks a bed whose holder could not be cleaned up, or whose hook failed.
func SetQuarantine(bed *v1alpha1.TestBed, now time.Time, holder, reason, message string) {
	SetCondition(&bed.Status.Conditions, now, bed.Generation, metav1.Condition{
		Type: v1alpha1.ConditionQuarantined, Status: metav1.ConditionTrue, Reason: reason,
		Message: fmt.Sprintf("after benchmark %s: %s", holder, message),
	})
}

// IsQuarantined reports whether a bed is marked so.
func IsQuarantined(bed *v1alpha1.TestBed) bool {
	return IsTrue(bed.Status.Conditions, v1alpha1.ConditionQuarantined)
}
