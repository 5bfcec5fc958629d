package labpage

import "context"

// wallPage is the lab on a large screen: without controls, and only what matters across a room.
type wallPage struct {
	frame
	MayBeds bool
	Counts  []stateCount
	Running int
	Waiting int
	// Shut are beds that wait for a person.
	Shut       []bedView
	ShutMore   int
	Failed     []runView
	FailedMore int
	Live       []runView
	LiveMore   int
}

// Numbers of lines of each part of the wall, which fit a screen together.
const wallShut, wallFailed, wallLive = 5, 5, 8

// wallRefresh is the time in seconds after which the wall loads itself again, without a script.
const wallRefresh = 30

// wall shows the lab on a large screen.
func (p *Page) wall(ctx context.Context, q *request) (*answer, error) {
	v, err := p.see(ctx, q)
	if err != nil {
		return nil, err
	}
	page := wallPage{frame: p.frame(q, "", "Lab", wallRefresh), MayBeds: v.beds}
	page.Live, page.Running = v.live(wallLive)
	page.LiveMore = page.Running - len(page.Live)
	page.Failed, page.FailedMore = v.failed(wallFailed)
	page.Waiting = v.count(q.lab.waiting)
	if v.beds {
		var all []bedView
		all, page.Counts = filter{}.beds(v)
		for _, state := range []string{stateQuarantined, stateNotReady} {
			for _, view := range all {
				switch {
				case view.State != state:
				case len(page.Shut) < wallShut:
					page.Shut = append(page.Shut, view)
				default:
					page.ShutMore++
				}
			}
		}
	}
	return render("wall", page)
}
