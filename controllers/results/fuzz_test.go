package results

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"nodrop.dev/nodrop/internal/measure/runner"
)

// FuzzCheck checks answers of a runner: what is accepted is planned, and can be stored.
func FuzzCheck(f *testing.F) {
	for id := range allPlanned() {
		text, err := json.Marshal(map[string]any{"log": "1", "after": 0, "logRows": []any{map[string]any{"test": id.Test, "method": "Soak", "frameSize": id.FrameSize, "load": id.Load, "validity": "Valid"}}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		break
	}
	f.Add([]byte(`{"log":"1","done":true,"outcome":"Measured","reason":"AllMeasured","environment":{"engine":"sim"}}`))
	f.Add([]byte(`{"log":"1","message":"\u0000\ud800","progress":{"rowsDone":-1}}`))
	cfg := config()
	f.Fuzz(func(t *testing.T, text []byte) {
		var a runner.Answer
		if json.Unmarshal(text, &a) != nil || NewChecker(cfg).Check(&a) != nil {
			return
		}
		if !utf8.ValidString(a.Message) || len(a.Message) > maxText {
			t.Errorf("message %q", a.Message)
		}
		for i := range a.LogRows {
			row := &a.LogRows[i]
			if allPlanned()[row.RowID] != row.Method {
				t.Errorf("row %+v is not planned", row.RowID)
			}
			if n, err := size(*row); err != nil || n > maxRow {
				t.Errorf("a row of %d bytes, %v", n, err)
			}
		}
	})
}
