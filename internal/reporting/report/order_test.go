package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// orderCells are the cells of a document's only row for what it says of order.
func orderCells(t *testing.T, d *Document) []string {
	t.Helper()
	var out bytes.Buffer
	if err := d.Write(&out, FormatCSV); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(lines) != 2 {
		t.Fatalf("%q, %v", lines, err)
	}
	var cells []string
	for _, name := range []string{"duplicate_frames", "reordered_frames", "out_of_sequence"} {
		cells = append(cells, lines[1][slices.Index(lines[0], name)])
	}
	return cells
}

// What was not counted is absent in the JSON, an empty cell in the CSV, and said in the
// text; what was counted and is none is a zero, and nothing is said.
func TestOrderThatWasNotCounted(t *testing.T) {
	const note = "duplicate and reordered frames were not counted"
	for name, tc := range map[string]struct {
		change  func(*v1alpha1.ResultRow)
		cells   []string
		notes   bool
		members int
	}{
		"none": {func(*v1alpha1.ResultRow) {}, []string{"0", "0", "0"}, false, 3},
		"not counted": {func(r *v1alpha1.ResultRow) {
			r.Frames.Duplicate, r.Frames.Reordered, r.Frames.OutOfSequence = nil, nil, nil
		}, []string{"", "", ""}, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := chassis()
			d.Rows = d.Rows[:1]
			tc.change(&d.Rows[0])
			if got := orderCells(t, d); !slices.Equal(got, tc.cells) {
				t.Errorf("cells %q, want %q", got, tc.cells)
			}
			if text := d.Text(); strings.Contains(text, note) != tc.notes {
				t.Errorf("the text is\n%s", text)
			}
			text, err := json.Marshal(d.Rows[0])
			if err != nil {
				t.Fatal(err)
			}
			var members struct{ Frames map[string]any }
			if err := json.Unmarshal(text, &members); err != nil {
				t.Fatal(err)
			}
			found := 0
			for _, name := range []string{"duplicate", "reordered", "outOfSequence"} {
				if _, ok := members.Frames[name]; ok {
					found++
				}
			}
			if found != tc.members {
				t.Errorf("%d members in %s, want %d", found, text, tc.members)
			}
		})
	}
}

// A result that has no count of frames out of sequence, but all others, shows those.
func TestOrderWithoutTheOlderCount(t *testing.T) {
	const kept = `{"schema": "` + Schema + `", "rows": [
		{"test": "order", "method": "Ordering", "frameSize": 64, "load": "50%", "trials": 1,
		 "frames": {"lineRatePPM": 500000, "framesPerSecond": 1, "bitsPerSecond": 512, "sent": 100, "received": 100, "lost": 0, "duplicate": 0, "reordered": 0}, "ordering": {"reorderedPPM": 0, "outOfSequencePPM": 0, "onsetPPM": 0, "inOrderPPM": 500000}, "validity": "Valid"}]}`
	d, err := Read([]byte(kept))
	if err != nil {
		t.Fatal(err)
	}
	row := d.Rows[0]
	if row.Frames.Duplicate == nil || *row.Frames.Duplicate != 0 || row.Frames.Reordered == nil || *row.Frames.Reordered != 0 || row.Frames.OutOfSequence != nil {
		t.Errorf("%+v", row)
	}
	text := d.Text()
	if !strings.Contains(text, "0  0.0000        0  0.0000") || strings.Contains(text, "not counted") {
		t.Errorf("the text is\n%s", text)
	}
}

// Marks are printed where frames may be marked, and headers of RoCEv2 with the traffic.
func TestMarksInTheText(t *testing.T) {
	d := chassis()
	d.Rows = d.Rows[:1]
	r := d.Rows[0].Frames
	r.Received = 4000
	for want, marks := range map[string]*int64{
		"1,000 of 4,000 frames marked as congested (ECN CE, 25%)": new(int64(1000)),
		"no frame was marked as congested (ECN CE)":               new(int64),
		"": nil,
	} {
		r.Congested = marks
		if text := d.Text(); !strings.Contains(text, want) || strings.Contains(text, "congested") != (marks != nil) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
	r.CNP = &v1alpha1.CNPSummary{Sent: 1000, Received: 998}
	if text, want := strings.Join(strings.Fields(d.Text()), " "), "marked frames were answered by 1,000 congestion notification packets, of which the senders received 998"; !strings.Contains(text, want) {
		t.Errorf("want %q in\n%s", want, text)
	}
	for want, counted := range map[bool]*v1alpha1.FlowControlSummary{true: {}, false: {PFCFrames: 1}} {
		r.FlowControl = counted
		if text := d.Text(); strings.Contains(text, "the ports received no frame of flow control") != want {
			t.Errorf("with %+v the text is\n%s", counted, text)
		}
	}
	d.Profile.Packet = v1alpha1.Packet{IPv4: &v1alpha1.IPPacket{}, RoCEv2: &v1alpha1.RoCEv2Packet{DestinationQP: new(int32(17)), CNP: &v1alpha1.RoCEv2CNP{}}, ECN: v1alpha1.ECT0}
	if text := d.traffic(); !strings.Contains(text, "RoCEv2 RCSendOnly, partition key 0xffff, destination queue pair 17, from UDP 49152, marks answered by CNPs at least 50 µs apart, ECN ECT0") {
		t.Error(text)
	}
}
