package hostileteam

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestReport counts answers of each kind. Requests that the end of the attack cut off do not count.
func TestReport(t *testing.T) {
	g := NewWithT(t)
	c, ctx := newCounts(), t.Context()
	ended, end := context.WithCancel(ctx)
	end()
	large := apierrors.NewInvalid(schema.GroupKind{Kind: "Benchmark"}, "b", field.ErrorList{field.Invalid(field.NewPath("metadata"), "b", "too large")})
	for _, err := range []error{nil, nil, large, fmt.Errorf("creating: %w", large), apierrors.NewTooManyRequests("wait", 1), context.DeadlineExceeded, errors.New("EOF")} {
		c.add(ctx, "make", err)
	}
	c.add(ended, "make", context.Canceled)
	c.add(ctx, "page", pageStatus(http.StatusUnauthorized))
	r := c.report(2 * time.Second)
	g.Expect(r.Lines).To(Equal([]Line{
		{"make", 2, map[string]int{"Invalid metadata": 2, "TooManyRequests": 1, "no answer in time": 1, "broken connection": 1}},
		{"page", 0, map[string]int{"Unauthorized": 1}},
	}))
	g.Expect(r.Rate(r.Lines[0])).To(Equal(3.5))
	g.Expect(r.Accepted("make")).To(Equal(2))
	var text strings.Builder
	g.Expect(r.Print(&text)).To(Succeed())
	g.Expect(text.String()).To(ContainSubstring("2         2 Invalid metadata, 1 TooManyRequests, 1 broken connection, 1 no answer in time\n"))
}

// TestMerge adds the answers to requests of several teams.
func TestMerge(t *testing.T) {
	one := Report{Duration: 10 * time.Second, Lines: []Line{{"make", 3, map[string]int{"Invalid": 2}}, {"write", 1, nil}}}
	two := Report{Duration: 11 * time.Second, Lines: []Line{{"dry run", 5, nil}, {"make", 4, map[string]int{"Invalid": 1, "Forbidden": 7}}}}
	want := Report{Duration: 11 * time.Second, Lines: []Line{
		{"dry run", 5, map[string]int{}}, {"make", 7, map[string]int{"Invalid": 3, "Forbidden": 7}}, {"write", 1, map[string]int{}},
	}}
	if got := Merge(one, two); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
