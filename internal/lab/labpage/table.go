package labpage

import "context"

type tablePage struct {
	frame
	Filter filter
	Beds   []bedView
}

// table shows all beds that match a filter with all that is known of them, to be printed.
func (p *Page) table(ctx context.Context, q *request) (*answer, error) {
	v, err := p.see(ctx, q)
	if err != nil {
		return nil, err
	}
	if !v.beds {
		return nil, errForbidden
	}
	page := tablePage{frame: p.frame(q, "beds", "Table of beds", 0), Filter: newFilter(q, v)}
	page.Beds, _ = page.Filter.beds(v)
	for i := range page.Beds {
		v.complete(&page.Beds[i])
	}
	return render("table", page)
}
