package report

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
)

// A document that was written is the same when it is read back, so that an archived
// result loses nothing.
func TestDocumentsAreReadBackAsTheyWere(t *testing.T) {
	for name, d := range allDocuments() {
		for _, format := range []Format{FormatJSON, FormatYAML} {
			t.Run(name+" as "+string(format), func(t *testing.T) {
				var first, second bytes.Buffer
				if err := d.Write(&first, format); err != nil {
					t.Fatal(err)
				}
				read, err := Read(first.Bytes())
				if err != nil {
					t.Fatal(err)
				}
				// Times are equal in any time zone.
				if !equality.Semantic.DeepEqual(read, d) {
					t.Errorf("read back:\n%+v\nwant\n%+v", read, d)
				}
				if err := read.Write(&second, format); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(first.Bytes(), second.Bytes()) {
					t.Errorf("written again:\n%s\nwant\n%s", &second, &first)
				}
			})
		}
	}
}

// The document has the device's files as they were, and nothing of who may use the
// bed.
func TestInputsOfADocument(t *testing.T) {
	d := chassis()
	want := []DeviceFiles{{ConfigMap: "nexus9508", Files: []DeviceFile{
		{Name: "a.txt", Text: " two\tlines: #1\n\n"},
		{Name: "license.key", Data: []byte{0, 1, 255}},
		{Name: "nexus9508.csv", Text: "size,capacity\n64,69.6875%\n"},
	}}}
	if !reflect.DeepEqual(d.Files, want) {
		t.Errorf("files %+v, want %+v", d.Files, want)
	}
	var text bytes.Buffer
	if err := d.Write(&text, FormatJSON); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "team-secret") {
		t.Error("the document says who may use the bed")
	}
	if len(d.Inputs) != 3 || d.Bed == nil || d.Bed.Device.Simulated == nil {
		t.Errorf("inputs %+v, bed %+v", d.Inputs, d.Bed)
	}
}
