package notify

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// typePrefix begins the type of every event: dev.nodrop.benchmark.gatefailed.v1.
const typePrefix = "dev.nodrop.benchmark."

// Data is the content of an event. New fields may be added; the meaning of a field never
// changes.
type Data struct {
	// Namespace, Name and UID of the benchmark.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// Event is the type of the event, as in spec.events of a sink.
	Event v1alpha1.NotificationEvent `json:"event"`
	// Labels of the benchmark.
	Labels map[string]string `json:"labels,omitempty"`
	// Schedule and History are the names of the schedule that made the benchmark, and of its history.
	Schedule string `json:"schedule,omitempty"`
	History  string `json:"history"`
	// TestBed is the bed that it had.
	TestBed string `json:"testBed,omitempty"`
	// Phase is the final phase, and Message its reason.
	Phase   v1alpha1.BenchmarkPhase `json:"phase"`
	Message string                  `json:"message,omitempty"`
	// Gates are the verdicts of the gates.
	Gates []v1alpha1.GateStatus `json:"gates,omitempty"`
	// Regression names the figure whose level became worse.
	Regression string `json:"regression,omitempty"`
	// StartTime and CompletionTime are the times at which the bed was leased and released.
	StartTime      *metav1.Time `json:"startTime,omitempty"`
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// Archive is the location of the archived result; absent until it is archived. It has no
	// credentials.
	Archive *v1alpha1.ArchiveReference `json:"archive,omitempty"`
}

// Encode makes the CloudEvent of a notification, in its structured JSON form.
func Encode(b *v1alpha1.Benchmark, n v1alpha1.Notification) ([]byte, error) {
	e := event.New()
	e.SetID(ID(b, n.Event))
	e.SetType(typePrefix + strings.ToLower(string(n.Event)) + ".v1")
	e.SetSource("/apis/nodrop.dev/v1alpha1/namespaces/" + b.Namespace + "/benchmarks/" + b.Name)
	e.SetSubject(b.Namespace + "/" + b.Name)
	e.SetTime(n.Time.UTC().Truncate(time.Second))
	data := Data{
		Namespace: b.Namespace, Name: b.Name, UID: string(b.UID), Event: n.Event, Labels: b.Labels,
		Schedule: b.Labels[v1alpha1.LabelSchedule], History: b.Spec.History(b.Name), TestBed: b.Status.TestBedName,
		Phase: b.Status.Phase, Message: b.Status.Message, Gates: b.Status.Gates,
		StartTime: b.Status.StartTime, CompletionTime: b.Status.CompletionTime,
	}
	if b.Status.Results != nil {
		data.Archive = b.Status.Results.Archive
	}
	for _, c := range b.Status.Conditions {
		if c.Type == v1alpha1.ConditionRegression && c.Status == metav1.ConditionTrue {
			data.Regression = c.Message
		}
	}
	if err := e.SetData(event.ApplicationJSON, data); err != nil {
		return nil, fmt.Errorf("encoding the data of an event: %w", err)
	}
	if err := e.Validate(); err != nil {
		return nil, fmt.Errorf("checking an event: %w", err)
	}
	text, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encoding an event: %w", err)
	}
	return text, nil
}
