package dashboards

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"nodrop.dev/nodrop/internal/testkit/testserver"
)

// finest is the width of a window in the tests: no answer is without a point that was written.
const finest = time.Second

var (
	variable = regexp.MustCompile(`\$\{(\w+)(?::(\w+))?\}|\$(\w+)`)
	special  = regexp.MustCompile(`[\\^$*+?.()|\[\]{}/]`)
)

// interpolate replaces macros and variables as Grafana does: those of Flux in the backend,
// those of InfluxQL and the variables of dashboards in the browser. The format regex escapes
// values and joins them; all, with a value of its own, is not escaped.
func interpolate(t *testing.T, text string, l Language, d Dashboard, s settings) string {
	t.Helper()
	step := cmp.Or(s.step, finest)
	text = variable.ReplaceAllStringFunc(text, func(match string) string {
		parts := variable.FindStringSubmatch(match)
		name, format := parts[1]+parts[3], parts[2]
		switch name {
		case "timeFilter":
			return fmt.Sprintf("time >= %dms and time <= %dms", s.from.UnixMilli(), s.to.UnixMilli())
		case "__interval":
			return fmt.Sprintf("%ds", int(step.Seconds()))
		case "__from":
			return fmt.Sprint(s.from.UnixMilli())
		case "__to":
			return fmt.Sprint(s.to.UnixMilli())
		}
		i := slices.IndexFunc(d.Variables, func(v Variable) bool { return v.Name == name })
		if i < 0 {
			t.Fatalf("dashboard %s has no variable %s, which is in\n%s", d.Name, name, text)
		}
		values := s.variables[name]
		switch {
		case len(values) == 0 && d.Variables[i].All:
			return everything
		case len(values) == 0:
			t.Fatalf("no value of %s for dashboard %s", name, d.Name)
		case format == "regex":
			escaped := make([]string, len(values))
			for i, v := range values {
				escaped[i] = special.ReplaceAllString(v, `\$0`)
			}
			if len(escaped) == 1 {
				return escaped[0]
			}
			return "(" + strings.Join(escaped, "|") + ")"
		case len(values) > 1 || format != "" || d.Variables[i].All:
			t.Fatalf("%s has several values and the format %q: use ${%s:regex}", name, format, name)
		}
		return values[0]
	})
	if l == Flux {
		text = strings.NewReplacer(
			"v.timeRangeStart", s.from.UTC().Format(time.RFC3339Nano), "v.timeRangeStop", s.to.UTC().Format(time.RFC3339Nano),
			"v.windowPeriod", fmt.Sprintf("%dms", step.Milliseconds()), "v.defaultBucket", fmt.Sprintf("%q", testserver.InfluxDatabase+"/autogen"),
		).Replace(text)
	}
	return text
}
