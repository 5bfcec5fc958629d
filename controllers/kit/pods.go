package kit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"nodrop.dev/nodrop/internal/lab/labobjects"
)

// IsReady reports whether a pod's containers are ready to serve.
func IsReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue && pod.Status.PodIP != "" && pod.DeletionTimestamp.IsZero()
		}
	}
	return false
}

// IsLost reports whether a pod that is needed will not come back.
func IsLost(pod *corev1.Pod) bool {
	return pod == nil || !pod.DeletionTimestamp.IsZero() ||
		pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// EndOf describes how the container of a pod ended: by its own message if it has one.
func EndOf(pod *corev1.Pod) string {
	for _, c := range pod.Status.ContainerStatuses {
		for _, t := range []*corev1.ContainerStateTerminated{c.State.Terminated, c.LastTerminationState.Terminated} {
			if t == nil {
				continue
			}
			if words := lastLines(t.Message); words != "" {
				return words
			}
			return fmt.Sprintf("container %s of pod %s ended with %s, code %d", c.Name, pod.Name, t.Reason, t.ExitCode)
		}
	}
	if pod.Status.Message != "" {
		return fmt.Sprintf("pod %s: %s", pod.Name, pod.Status.Message)
	}
	return fmt.Sprintf("pod %s ended without a message", pod.Name)
}

// maxOutput bounds what is quoted of a container's output.
const maxOutput = 512

// lastLines returns the last lines of a container's output, which contain the reason why it
// ended.
func lastLines(output string) string {
	output = strings.TrimSpace(output)
	if len(output) > maxOutput {
		output = output[len(output)-maxOutput:]
		if i := strings.IndexByte(output, '\n'); i >= 0 {
			output = output[i+1:]
		}
	}
	return strings.Join(strings.Fields(strings.Map(visible, strings.ToValidUTF8(output, " "))), " ")
}

// visible replaces signs by a space that a terminal would act on: control characters, and changes of the
// direction of writing.
func visible(r rune) rune {
	if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
		return ' '
	}
	return r
}

// WaitsFor returns the reason why a pod is not ready yet, or "" if nothing is known: its
// container, its scheduling, or the latest warning about it.
func WaitsFor(ctx context.Context, reader client.Reader, pod *corev1.Pod) string {
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && !isStarting(w.Reason) {
			return strings.TrimSuffix(fmt.Sprintf("pod %s: %s: %s", pod.Name, w.Reason, cmp.Or(endOfLast(c), lastLines(w.Message))), ": ")
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return fmt.Sprintf("pod %s: %s: %s", pod.Name, c.Reason, c.Message)
		}
	}
	if !hasCondition(pod, corev1.PodScheduled) {
		return "" // It was just made: there is no event about it.
	}
	var events corev1.EventList
	// Only for a message: without it the wait is the same.
	if err := reader.List(ctx, &events, client.InNamespace(pod.Namespace), client.MatchingFields{"involvedObject.uid": string(pod.UID)}); err != nil {
		return ""
	}
	var latest *corev1.Event
	for i := range events.Items {
		e := &events.Items[i]
		if e.Type == corev1.EventTypeWarning && !starts(e) && (latest == nil || latest.LastTimestamp.Before(&e.LastTimestamp)) {
			latest = e
		}
	}
	if latest == nil {
		return ""
	}
	return fmt.Sprintf("pod %s: %s: %s", pod.Name, latest.Reason, words(latest))
}

func hasCondition(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
}

// words returns the message of an event in short.
func words(e *corev1.Event) string { return lastLines(labobjects.PluginProblem(e.Message)) }

// isStarting reports whether a container waits only for its start.
func isStarting(reason string) bool {
	return reason == "" || reason == "ContainerCreating" || reason == "PodInitializing"
}

// starts reports whether a warning is only about a program that does not listen yet: a
// probe finds that once or twice of any program that starts.
func starts(e *corev1.Event) bool { return e.Reason == "Unhealthy" && e.Count < 3 }

func endOfLast(c corev1.ContainerStatus) string {
	if t := c.LastTerminationState.Terminated; t != nil {
		return lastLines(t.Message)
	}
	return ""
}

// Colon returns a text after a colon; empty if there is none.
func Colon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// InBrackets returns a text in brackets; empty if there is none.
func InBrackets(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}
