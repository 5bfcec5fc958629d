package main

import (
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	for name, tc := range map[string]struct {
		code, log, want string
	}{
		"passed":     {"0", "ok\n", "passed"},
		"refused":    {"1", "one\nrefused: Linux 5.4 has no live frames\n", "refused: Linux 5.4 has no live frames"},
		"expected":   {"1", "one\nnodrop: p1 cannot be in VLANs", "refused: nodrop: p1 cannot be in VLANs"},
		"not last":   {"1", "p1 cannot be in VLANs\nnodrop: no", "failed: nodrop: no"},
		"test":       {"1", "=== RUN   TestA\n--- FAIL: TestA (0.1s)\n    --- FAIL: TestA/b (0.1s)\nFAIL\n", "failed: TestA"},
		"program":    {"2", "a\nnodrop: no such interface\n", "failed: nodrop: no such interface"},
		"too long":   {"124", "a\n", "failed: it took too long"},
		"no machine": {"", "a\n", "failed: the machine ended early"},
		"skipped":    {"0", "--- SKIP: TestA (0.00s)\nPASS\n", "failed: TestA was skipped"},
		"part left":  {"0", "--- PASS: TestA (0.00s)\n    --- SKIP: TestA/b (0.00s)\nPASS\n", "passed"},
		"no test":    {"0", "testing: warning: no tests to run\nPASS\n", "failed: no test ran"},
		// A refusal is one only if the check fails, and an early end is never one.
		"not refused": {"0", "refused: x\n", "passed"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := judge(tc.code, []byte(tc.log), "cannot be in VLANs").String(); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestExactResult(t *testing.T) {
	for name, tc := range map[string]struct{ result, want string }{
		"exact":     {`{"rows":[{"test":"latency","frames":{"lineRatePPM":5,"sent":10,"received":10,"lost":0,"reordered":0}}]}`, ""},
		"lost":      {`{"rows":[{"test":"latency","frames":{"lineRatePPM":5,"sent":10,"received":9,"lost":1}}]}`, "1 of 10 frames lost"},
		"reordered": {`{"rows":[{"test":"latency","frames":{"lineRatePPM":5,"sent":10,"received":10,"reordered":3}}]}`, "3 of 10 frames reordered"},
		"no load":   {`{"rows":[{"test":"throughput","message":"why","frames":{"sent":10,"received":10}}]}`, "throughput: no load passed: why"},
		"nothing":   {`{"rows":[{"test":"latency","message":"why"}]}`, "latency: no frame was sent: why"},
		"no rows":   {`{"phase":"Error","message":"why"}`, "the result is Error without rows: why"},
	} {
		t.Run(name, func(t *testing.T) {
			err := exactResult([]byte(tc.result))
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

func TestMarkdown(t *testing.T) {
	got := table{
		of: "kernel", checks: []check{{name: "a", title: "A"}, {name: "b", title: "B"}},
		lines: []line{{"one", map[string]cell{"a": {outcome: passed}, "b": {refused, "too old"}}}, {"two", map[string]cell{"a": {message: "TestA"}}}},
	}.markdown()
	want := `| kernel | A | B |
|---|---|---|
| one | passed | refused (1) |
| two | failed (2) | not run |

1. one, B: refused: too old
2. two, A: failed: TestA
`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestReplaceBetween(t *testing.T) {
	got, err := replaceBetween("a\n<!-- matrix -->\nold\n<!-- end of matrix -->\nb\n", "matrix", "new\n")
	if want := "a\n<!-- matrix -->\n\nnew\n\n<!-- end of matrix -->\nb\n"; err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := replaceBetween("a\n", "matrix", ""); err == nil {
		t.Error("a page without marks was accepted")
	}
}
