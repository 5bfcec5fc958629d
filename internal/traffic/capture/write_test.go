package capture

import (
	"bytes"
	"testing"
	"time"

	"github.com/gopacket/gopacket/pcapgo"

	"nodrop.dev/nodrop/internal/traffic"
)

// Ports are interfaces of the file, comments name the trials, and nothing makes no file.
func TestWrite(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 123_456_789)
	frame := func(port string, change func(*traffic.CapturedFrame)) traffic.CapturedFrame {
		f := traffic.CapturedFrame{Port: port, Time: at, Kinds: []traffic.CaptureKind{traffic.CaptureFirst}, Stream: 3, Sequence: 7, Length: 60, Data: []byte{1, 2, 3}}
		change(&f)
		return f
	}
	var file bytes.Buffer
	n, err := Write(&file,
		Trial{Name: "trial at 50%", Frames: []traffic.CapturedFrame{
			frame("p1", func(*traffic.CapturedFrame) {}),
			frame("p2", func(f *traffic.CapturedFrame) {
				f.Kinds, f.Missing = append(f.Kinds, traffic.CaptureAfterGap), 2
			}),
		}},
		Trial{Name: "trial at 75% that did not pass", Frames: []traffic.CapturedFrame{
			frame("p1", func(f *traffic.CapturedFrame) {
				f.Kinds, f.Damage = []traffic.CaptureKind{traffic.CaptureDamaged}, "truncated"
			}),
		}},
	)
	if err != nil || n != 3 {
		t.Fatalf("%d frames, %v", n, err)
	}
	r, err := pcapgo.NewNgReader(&file, pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ port, comment string }{
		{"p1", "trial at 50%: first of the trial: sequence 7 of stream 3"},
		{"p2", "trial at 50%: first of the trial, after a gap: sequence 7 of stream 3, 2 missing before it"},
		{"p1", "trial at 75% that did not pass: truncated: sequence 7 of stream 3, as it says"},
	} {
		data, info, options, err := r.ReadPacketDataWithOptions()
		if err != nil {
			t.Fatal(err)
		}
		of, err := r.Interface(info.InterfaceIndex)
		if err != nil || of.Name != want.port || len(options.Comments) != 1 || options.Comments[0] != want.comment {
			t.Errorf("frame %d: port %q, %q, %v", i, of.Name, options.Comments, err)
		}
		if !bytes.Equal(data, []byte{1, 2, 3}) || info.Length != 60 || !info.Timestamp.Equal(at) {
			t.Errorf("frame %d: %v %+v", i, data, info)
		}
	}
	file.Reset()
	if n, err := Write(&file, Trial{Name: "nothing"}); n != 0 || err != nil || file.Len() != 0 {
		t.Errorf("%d frames, %d bytes, %v", n, file.Len(), err)
	}
}
