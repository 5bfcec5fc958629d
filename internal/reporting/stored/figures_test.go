package stored_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/stored"
)

// TestFigures reads all rows of a result without what is large in them; Content has it.
func TestFigures(t *testing.T) {
	b := &v1alpha1.Benchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b", UID: "c"}}
	b.Spec.Tests = []v1alpha1.Test{{Name: "soak"}}
	objects := []client.Object{b}
	const parts = 3
	for n := range int32(parts) {
		part := stored.NewPart(b, n+1, "soak", "")
		part.Spec.Rows = []v1alpha1.ResultRow{{
			RowID: v1alpha1.RowID{Test: "soak", FrameSize: 64 + n}, Frames: &v1alpha1.FrameSection{Sent: int64(n) + 1},
			ValidityReasons: []string{fmt.Sprint(n)}, TrialRecords: &v1alpha1.TrialLog{}, Series: &v1alpha1.RateSeries{}, Capture: &v1alpha1.CaptureFile{},
		}}
		objects = append(objects, part)
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	whole, err := stored.Content(t.Context(), reader, b)
	if err != nil || len(whole.Rows) != parts {
		t.Fatalf("%d rows: %v", len(whole.Rows), err)
	}
	figures, err := stored.Figures(t.Context(), reader, b)
	if err != nil || len(figures.Rows) != parts {
		t.Fatalf("%d rows: %v", len(figures.Rows), err)
	}
	for i, row := range figures.Rows {
		if row.TrialRecords != nil || row.Series != nil || row.Capture != nil || row.Frames.Sent != int64(i)+1 || len(row.ValidityReasons) != 1 {
			t.Errorf("row %d has %+v", i, row)
		}
		if all := whole.Rows[i]; all.TrialRecords == nil || all.Series == nil || all.Capture == nil {
			t.Errorf("row %d of the whole result has %+v", i, all)
		}
	}
}
