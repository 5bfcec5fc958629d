package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// outcome of a check in a machine.
type outcome int

const (
	failed outcome = iota
	passed
	refused
)

// cell of a table.
type cell struct {
	outcome outcome
	// message is the reason for the refusal or failure.
	message string
}

func (c cell) String() string {
	switch c.outcome {
	case passed:
		return "passed"
	case refused:
		return "refused: " + c.message
	}
	return "failed: " + c.message
}

// refusal begins the line of a check's log that says why NoDrop refused to measure.
const refusal = "refused: "

// judge returns the cell of a check from its exit code and what it printed. An empty code
// means that the machine ended before the check did. If NoDrop is to refuse, expected is a
// part of its last line.
func judge(code string, log []byte, expected string) cell {
	lines := strings.Split(strings.TrimSpace(string(bytes.ToValidUTF8(log, nil))), "\n")
	switch code {
	case "0":
		for _, line := range lines {
			if name, ok := strings.CutPrefix(line, "--- SKIP: "); ok {
				name, _, _ = strings.Cut(name, " ")
				return cell{message: name + " was skipped"}
			}
			if strings.HasPrefix(line, "testing: warning: no tests to run") {
				return cell{message: "no test ran"}
			}
		}
		return cell{outcome: passed}
	case "":
		return cell{message: "the machine ended early"}
	case "124":
		return cell{message: "it took too long"}
	}
	if last := lines[len(lines)-1]; expected != "" && strings.Contains(last, expected) {
		return cell{refused, last}
	}
	for i := len(lines) - 1; i >= 0; i-- {
		if message, ok := strings.CutPrefix(lines[i], refusal); ok {
			return cell{refused, message}
		}
	}
	for _, line := range lines {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "--- FAIL: "); ok {
			name, _, _ = strings.Cut(name, " ")
			return cell{message: name}
		}
	}
	return cell{message: lines[len(lines)-1]}
}

// read returns the cell of a check from the folder that its machine wrote to.
func read(out string, c check, expected string) cell {
	code, err := os.ReadFile(filepath.Join(out, c.name+".code"))
	if err != nil {
		code = nil
	}
	log, err := os.ReadFile(filepath.Join(out, c.name+".log"))
	if err != nil {
		return cell{message: fmt.Sprintf("the machine did not begin it: %v", err)}
	}
	return judge(strings.TrimSpace(string(code)), log, expected)
}
