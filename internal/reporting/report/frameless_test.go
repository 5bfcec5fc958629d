package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
	"nodrop.dev/nodrop/internal/reporting/compare"
)

// Rows of a test that sends no test frames have no zeros in any format.
func TestRowsWithoutFrames(t *testing.T) {
	row := func(variant v1alpha1.VariantName) v1alpha1.ResultRow {
		return v1alpha1.ResultRow{
			RowID:    v1alpha1.RowID{Test: "routes", Variant: variant, Method: "LabelCapacity"},
			Validity: v1alpha1.ValidityValid, Trials: 1, Message: "500,000 routes",
		}
	}
	d := chassis()
	d.Spec.Variants = []v1alpha1.VariantName{"off", "on"}
	d.Rows = []v1alpha1.ResultRow{row("off"), row("on")}
	d.Differences = compare.Differences(d.Spec.Variants, d.Rows)
	for _, format := range Formats() {
		var out bytes.Buffer
		if err := d.Write(&out, format); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "nothing was sent") || strings.Contains(out.String(), "0 B") {
			t.Errorf("%s tells of frames:\n%s", format, &out)
		}
	}
	text, err := json.Marshal(d.Rows[0])
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"test":"routes","variant":"off","method":"LabelCapacity","validity":"Valid","message":"500,000 routes","trials":1,"elapsedMilliseconds":0}`; string(text) != want {
		t.Errorf("%s, want %s", text, want)
	}
	if text, want := d.Text(), "\n  validity\n  Valid\n\n  routes: 500,000 routes\n\nDevice"; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
	if got, want := RowLine(d.Rows[0]), "routes (off): Valid, 500,000 routes"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
