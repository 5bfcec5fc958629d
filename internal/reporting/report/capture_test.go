package report

import (
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// A report names the files with captured frames, and a page links to them.
func TestCapturesAreNamed(t *testing.T) {
	t.Parallel()
	row := v1alpha1.ResultRow{
		RowID:  v1alpha1.RowID{Test: "t", Method: v1alpha1.MethodLatency, FrameSize: 64, Load: "50%"},
		Frames: &v1alpha1.FrameSection{Sent: 10, Received: 10, LineRatePPM: 500_000}, Validity: v1alpha1.ValidityValid,
		Capture: &v1alpha1.CaptureFile{File: "r.json.captures/t-64-b.pcapng", SHA256: strings.Repeat("0", 64), Frames: 1},
	}
	other := row
	other.FrameSize, other.Capture = 128, nil
	d := &Document{Rows: []v1alpha1.ResultRow{row, other}}
	if text := d.Text(); !strings.Contains(text, "64 B: 1 frame captured in r.json.captures/t-64-b.pcapng") {
		t.Errorf("text:\n%s", text)
	}
	page, err := d.html()
	if err != nil {
		t.Fatal(err)
	}
	if want := `Captured frames: 64 B <a href="r.json.captures/t-64-b.pcapng">r.json.captures/t-64-b.pcapng</a> (1 frame).`; !strings.Contains(string(page), want) || strings.Contains(string(page), "captured in") {
		t.Errorf("the page lacks %s", want)
	}
}
