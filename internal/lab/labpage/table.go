package labpage

import "context"

// tableSize is the number of beds of a table. A larger lab has several tables, each of which says what it leaves out.
const tableSize = 2000

type tablePage struct {
	frame
	Filter filter
	Beds   []bedView
	Pager  pager
}

// Parts reports whether the table does not have all beds.
func (t tablePage) Parts() bool { return t.Others() > 0 }

// Others is the number of beds that the table leaves out.
func (t tablePage) Others() int { return t.Pager.Total - len(t.Beds) }

// table shows the beds that match a filter with all that is known of them, to be printed.
func (p *Page) table(ctx context.Context, q *request) (*answer, error) {
	v, err := p.see(ctx, q)
	if err != nil {
		return nil, err
	}
	if !v.beds {
		return nil, errForbidden
	}
	page := tablePage{frame: p.frame(q, "beds", "Table of beds", 0), Filter: newFilter(q, v)}
	all, _ := page.Filter.beds(v)
	page.Beds, page.Pager = paged(all, q.URL.Query(), tableSize, "bed")
	for i := range page.Beds {
		v.complete(&page.Beds[i])
	}
	return render("table", page)
}
