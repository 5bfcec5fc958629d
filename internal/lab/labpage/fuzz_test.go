package labpage

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"nodrop.dev/nodrop/api/v1alpha1"
)

// FuzzQueries asks for pages with any query: none fails, and none shows what it was asked with
// unescaped.
func FuzzQueries(f *testing.F) {
	for _, query := range []string{"view=waiting&page=2", "view=finished&team=a&name=%3Cscript%3E", "page=-1", "page=99999999999999999999", "state=running&bed=%ff", "days=1000000", "from=b&to=c"} {
		f.Add(query)
	}
	p := newPage(f, fakeAccess("*"), bed("bed-1", nil), benchmark("a", "waits", v1alpha1.PhaseQueued, nil), benchmark("a", "done", v1alpha1.PhasePassed, nil))
	f.Fuzz(func(t *testing.T, query string) {
		if _, err := url.ParseQuery(query); err != nil || strings.ContainsAny(query, "#") {
			return
		}
		for _, path := range []string{"/", "/benchmarks", "/beds/bed-1", "/reservations", "/benchmarks/a/done"} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			r.URL.RawQuery = query
			r.Header.Set("Authorization", "Bearer alice")
			w := httptest.NewRecorder()
			p.ServeHTTP(w, r)
			if w.Code >= http.StatusInternalServerError {
				t.Errorf("%s?%s: %d %s", path, query, w.Code, w.Body)
			}
			if strings.Contains(query, "%3Cscript%3Ex") && strings.Contains(w.Body.String(), "<script>x") {
				t.Errorf("%s?%s is shown unescaped", path, query)
			}
		}
	})
}
