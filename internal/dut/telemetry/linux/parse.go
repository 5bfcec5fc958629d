package linux

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"nodrop.dev/nodrop/internal/dut/telemetry"
)

// Number of parts of answers.
const (
	parts      = 6
	factsParts = 6
)

// split divides an answer into its parts, and reads the first one: the time since the start of the device.
func split(text string, want int) (part []string, up time.Duration, _ error) {
	part = strings.Split(text, end+"\n")
	if len(part) != want {
		return nil, 0, fmt.Errorf("the answer of a Linux device has %d parts, want %d: want a user whose shell runs commands", len(part), want)
	}
	first, _, _ := strings.Cut(part[0], " ")
	seconds, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return nil, 0, errors.New("the time since the start of the device is not in its output: want Linux with /proc")
	}
	return part, time.Duration(seconds * float64(time.Second)), nil
}

// parse reads the answer to shortQuestion or longQuestion.
func (r *Reader) parse(text string) (*telemetry.Reading, error) {
	part, up, err := split(text, parts)
	if err != nil {
		return nil, err
	}
	out := &telemetry.Reading{Up: up}
	if err := r.links(out, part[0]); err != nil {
		return nil, err
	}
	r.processors(out, part[0])
	memory(out, part[0])
	r.queues(out, part[1])
	rules(out, part[2])
	flows(out, part[3])
	temperatures(out, part[4])
	r.labels(out, part[5])
	return out, nil
}

// parseFacts reads the answer to factsQuestion.
func parseFacts(text string) (*telemetry.Facts, error) {
	part, up, err := split(text, factsParts)
	if err != nil {
		return nil, err
	}
	for i := range part {
		part[i] = strings.TrimSpace(part[i])
	}
	distribution := strings.Trim(strings.TrimPrefix(part[2], "PRETTY_NAME="), `"`)
	return &telemetry.Facts{
		Software: strings.TrimPrefix(distribution+", "+part[1], ", "), Model: part[3], SerialNumber: part[4], Description: part[5], Up: up,
	}, nil
}

func (r *Reader) wants(name string) bool {
	return len(r.interfaces) == 0 || slices.Contains(r.interfaces, name)
}

// columns of an interface in /proc/net/dev.
var columns = map[int]string{2: "input errors", 3: "input discards", 10: "output errors", 11: "output discards"}

// links reads /proc/net/dev.
func (r *Reader) links(out *telemetry.Reading, text string) error {
	known := map[string]bool{}
	for line := range strings.Lines(text) {
		name, rest, found := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		fields := strings.Fields(rest)
		if !found || len(fields) < 12 {
			continue
		}
		known[name] = true
		if !r.wants(name) {
			continue
		}
		for column, what := range columns {
			if n, err := strconv.ParseUint(fields[column], 10, 64); err == nil {
				out.Add(what+" of "+name, telemetry.Counter{Value: n, Bits: 64})
			}
		}
	}
	for _, name := range r.interfaces {
		if !known[name] {
			return fmt.Errorf("the device has no interface %q", name)
		}
	}
	return nil
}

// spent is the time of a processor, in ticks.
type spent struct{ busy, total uint64 }

// Columns of a processor in /proc/stat: guest time is part of user time.
const (
	statIdle, statIOWait = 3, 4
	statStolen           = 7
)

// processor matches the name of a processor in /proc/stat, and not the one of an interface.
var processor = regexp.MustCompile(`^cpu\d+$`)

// processors reads the processors of /proc/stat: their load is that since the last reading.
func (r *Reader) processors(out *telemetry.Reading, text string) {
	now := map[string]spent{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) <= statStolen+1 || !processor.MatchString(fields[0]) {
			continue
		}
		var s spent
		for column, field := range fields[1 : statStolen+2] {
			n, _ := strconv.ParseUint(field, 10, 64)
			s.total += n
			if column != statIdle && column != statIOWait {
				s.busy += n
			}
		}
		now[fields[0]] = s
		if before, has := r.busy[fields[0]]; has && s.total > before.total && s.busy >= before.busy {
			out.Sense("processor "+strings.TrimPrefix(fields[0], "cpu"), 100*float64(s.busy-before.busy)/float64(s.total-before.total), "%")
		}
	}
	r.busy = now
}

// memory reads /proc/meminfo.
func memory(out *telemetry.Reading, text string) {
	values := map[string]float64{}
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(line, ":")
		if fields := strings.Fields(rest); len(fields) > 0 {
			values[name], _ = strconv.ParseFloat(fields[0], 64)
		}
	}
	if total, available := values["MemTotal"], values["MemAvailable"]; total > 0 && available > 0 {
		out.Sense("memory", 100*(total-available)/total, "%")
	}
}

// queues reads the queues of tc: the first one of an interface counts what those below it drop as well.
func (r *Reader) queues(out *telemetry.Reading, text string) {
	var all []struct {
		Kind  string `json:"kind"`
		Dev   string `json:"dev"`
		Root  bool   `json:"root"`
		Drops uint64 `json:"drops"`
	}
	if json.Unmarshal([]byte(text), &all) != nil {
		return // The device has no tc.
	}
	for _, q := range all {
		if (q.Root || q.Kind == "ingress" || q.Kind == "clsact") && q.Kind != "noqueue" && r.wants(q.Dev) {
			out.Add(fmt.Sprintf("drops of queue %s of %s", q.Kind, q.Dev), telemetry.Counter{Value: q.Drops, Bits: 64})
		}
	}
}

var (
	dropping = regexp.MustCompile(`^\s*(.*?)\s*counter packets (\d+) bytes \d+ (?:drop|reject)\b`)
	opening  = regexp.MustCompile(`^\s*(table|chain) (.*) \{$`)
)

// rules reads the rules of nft that count and drop.
func rules(out *telemetry.Reading, text string) {
	table, chain := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if found := opening.FindStringSubmatch(line); found != nil {
			if found[1] == "table" {
				table = found[2]
			} else {
				chain = found[2]
			}
			continue
		}
		if found := dropping.FindStringSubmatch(line); found != nil {
			n, err := strconv.ParseUint(found[2], 10, 64)
			if err != nil {
				continue
			}
			rule := found[1]
			if rule == "" {
				rule = "every frame"
			}
			out.Add(fmt.Sprintf("drops by rule %q in %s %s", rule, table, chain), telemetry.Counter{Value: n, Bits: 64})
		}
	}
}

var (
	droppingFlow = regexp.MustCompile(`\bn_packets=(\d+), n_bytes=\d+,\s*(?:\w+_(?:timeout|age)=\d+, )*(\S*) actions=drop$`)
	tableCounts  = regexp.MustCompile(`^\s*table (\d+).*?:\s*(?:$|active=)`)
	lookups      = regexp.MustCompile(`\blookup=(\d+), matched=(\d+)`)
)

// flows reads the flows of Open vSwitch that drop, and the frames for which its tables have no flow: since OpenFlow 1.3 these are
// dropped.
func flows(out *telemetry.Reading, text string) {
	bridge, table := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if name, is := strings.CutPrefix(line, "bridge "); is {
			bridge = name
			continue
		}
		if found := droppingFlow.FindStringSubmatch(line); found != nil {
			if n, err := strconv.ParseUint(found[1], 10, 64); err == nil {
				out.Add(fmt.Sprintf("drops by flow %q of %s", found[2], bridge), telemetry.Counter{Value: n, Bits: 64})
			}
			continue
		}
		if found := tableCounts.FindStringSubmatch(line); found != nil {
			table = found[1]
		}
		if found := lookups.FindStringSubmatch(line); found != nil {
			asked, err := strconv.ParseUint(found[1], 10, 64)
			matched, err2 := strconv.ParseUint(found[2], 10, 64)
			if err == nil && err2 == nil && asked >= matched {
				out.Add(fmt.Sprintf("frames without a flow in table %s of %s", table, bridge), telemetry.Counter{Value: asked - matched, Bits: 64})
			}
		}
	}
}

// temperatures reads lines of the form "name file value", in thousandths of a degree.
func temperatures(out *telemetry.Reading, text string) {
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) == 3 {
			if n, err := strconv.ParseFloat(fields[2], 64); err == nil {
				out.Sense(fields[0]+" "+strings.TrimSuffix(fields[1], "_input"), n/1000, "°C")
			}
		}
	}
}
