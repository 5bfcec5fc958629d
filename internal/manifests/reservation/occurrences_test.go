package reservation

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodrop.dev/nodrop/api/v1alpha1"
)

func parse(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func spec(t *testing.T, from, until, rule, zone string, exceptions ...string) *v1alpha1.ReservationSpec {
	t.Helper()
	s := &v1alpha1.ReservationSpec{From: metav1.NewTime(parse(t, from)), Until: metav1.NewTime(parse(t, until))}
	if rule != "" {
		s.Recurrence = &v1alpha1.Recurrence{Rule: rule, TimeZone: zone}
		for _, e := range exceptions {
			s.Recurrence.Exceptions = append(s.Recurrence.Exceptions, metav1.NewTime(parse(t, e)))
		}
	}
	return s
}

func TestBetween(t *testing.T) {
	for name, tc := range map[string]struct {
		spec      *v1alpha1.ReservationSpec
		in, until string
		want      []string
	}{
		"once": {spec(t, "2026-03-01T10:00:00Z", "2026-03-01T12:00:00Z", "", ""), "2026-03-01T11:00:00Z", "2026-03-02T00:00:00Z", []string{"2026-03-01T10:00:00Z"}},
		"once, before the span": {
			spec(t, "2026-03-01T10:00:00Z", "2026-03-01T12:00:00Z", "", ""), "2026-03-01T12:00:00Z", "2026-03-02T00:00:00Z", nil,
		},
		"every night keeps its hour in summer": {
			spec(t, "2026-03-27T21:00:00Z", "2026-03-28T03:00:00Z", "FREQ=DAILY", "Europe/Berlin"), "2026-03-27T00:00:00Z", "2026-03-30T00:00:00Z",
			[]string{"2026-03-27T21:00:00Z", "2026-03-28T21:00:00Z", "2026-03-29T20:00:00Z"},
		},
		"an occurrence that began before the span": {
			spec(t, "2026-03-01T22:00:00Z", "2026-03-02T02:00:00Z", "FREQ=DAILY", "UTC"), "2026-03-05T01:00:00Z", "2026-03-05T03:00:00Z", []string{"2026-03-04T22:00:00Z"},
		},
		"working days": {
			spec(t, "2026-03-06T10:00:00Z", "2026-03-06T11:00:00Z", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", ""), "2026-03-06T00:00:00Z", "2026-03-10T00:00:00Z",
			[]string{"2026-03-06T10:00:00Z", "2026-03-09T10:00:00Z"},
		},
		"a number of times": {
			spec(t, "2026-03-06T10:00:00Z", "2026-03-06T11:00:00Z", "FREQ=DAILY;COUNT=2", ""), "2026-03-07T00:00:00Z", "2026-04-10T00:00:00Z", []string{"2026-03-07T10:00:00Z"},
		},
		"but one": {
			spec(t, "2026-03-06T10:00:00Z", "2026-03-06T11:00:00Z", "FREQ=DAILY;COUNT=3", "UTC", "2026-03-07T10:00:00Z"), "2026-03-06T00:00:00Z", "2026-04-10T00:00:00Z",
			[]string{"2026-03-06T10:00:00Z", "2026-03-08T10:00:00Z"},
		},
		"the last Friday of a month": {
			spec(t, "2026-03-27T10:00:00Z", "2026-03-27T11:00:00Z", "FREQ=MONTHLY;BYDAY=-1FR", "UTC"), "2026-03-01T00:00:00Z", "2026-05-01T00:00:00Z",
			[]string{"2026-03-27T10:00:00Z", "2026-04-24T10:00:00Z"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			spans, err := Between(tc.spec, Span{parse(t, tc.in), parse(t, tc.until)})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range spans {
				got = append(got, s.From.Format(time.RFC3339))
				if s.Until.Sub(s.From) != Length(tc.spec) {
					t.Errorf("%s is not as long as the first", s)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("begins (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	const from, until = "2026-03-06T10:00:00Z", "2026-03-06T11:00:00Z" // A Friday.
	for name, tc := range map[string]struct {
		spec *v1alpha1.ReservationSpec
		want string
	}{
		"once":                    {spec(t, from, until, "", ""), ""},
		"every Friday":            {spec(t, from, until, "FREQ=WEEKLY;BYDAY=FR", "Europe/Berlin"), ""},
		"back to back":            {spec(t, from, "2026-03-07T10:00:00Z", "FREQ=DAILY", ""), ""},
		"a zone that is unknown":  {spec(t, from, until, "FREQ=DAILY", "Europe/Atlantis"), `spec.recurrence.timeZone: Invalid value: "Europe/Atlantis": time zone "Europe/Atlantis" is not known`},
		"the zone of the machine": {spec(t, from, until, "FREQ=DAILY", "Local"), "is not known"},
		"no rule":                 {spec(t, from, until, "every day", ""), `rule "every day" has the part "every day": the parts are FREQ`},
		"an unknown day":          {spec(t, from, until, "FREQ=WEEKLY;BYDAY=FX", ""), "cannot be read"},
		"hourly":                  {spec(t, from, until, "FREQ=HOURLY", ""), "repeats more often than daily"},
		"several hours":           {spec(t, from, until, "FREQ=DAILY;BYHOUR=1,2,3", ""), `has the part "BYHOUR"`},
		"another begin":           {spec(t, from, until, "FREQ=DAILY\nDTSTART:20200101T000000Z", ""), "cannot be read"},
		"two ends":                {spec(t, from, until, "FREQ=DAILY;COUNT=2;UNTIL=20270101T000000Z", ""), "has COUNT and UNTIL"},
		"a part twice":            {spec(t, from, until, "FREQ=DAILY;COUNT=2;COUNT=3", ""), "has COUNT more than once"},
		"backwards":               {spec(t, from, until, "FREQ=DAILY;INTERVAL=-1", ""), "negative number"},
		"a day that there is not": {spec(t, from, until, "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", ""), "no day fits this rule"},
		"from is none of the rule": {
			spec(t, from, until, "FREQ=WEEKLY;BYDAY=MO", ""), "the first time of the rule FREQ=WEEKLY;BYDAY=MO from then on is 2026-03-09T10:00:00Z: give that as from",
		},
		"longer than the time between": {
			spec(t, from, "2026-03-08T11:00:00Z", "FREQ=WEEKLY;BYDAY=FR,SU", ""), "an occurrence takes 49h0m0s, and after the one at 2026-03-06T10:00:00Z the next begins at 2026-03-08T10:00:00Z",
		},
	} {
		t.Run(name, func(t *testing.T) {
			problems := Validate(&v1alpha1.Reservation{Spec: *tc.spec})
			switch {
			case tc.want == "" && len(problems) > 0:
				t.Error(problems)
			case tc.want != "" && (len(problems) != 1 || !strings.Contains(problems[0].Error(), tc.want)):
				t.Errorf("problems %v\nwant %s", problems, tc.want)
			}
		})
	}
}
