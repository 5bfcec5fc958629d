package admission

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"nodrop.dev/nodrop/internal/base/pace"
)

// PacePath is the path on which the writes of each namespace are paced.
const PacePath = "/pace-nodrop-dev-v1alpha1"

const (
	// writesAtOnce is the number of writes that pass without a pause in a namespace, and writesPerSecond their rate after that. Each
	// began bytesOfAWrite of an object count as one.
	writesAtOnce, writesPerSecond = 200, 20
	bytesOfAWrite                 = 8 << 10
	// longestPause bounds how long a write waits. A user of the same priority level may have to wait for it in the API server.
	longestPause = 500 * time.Millisecond
	// maxPaused is the number of writes that wait at the same time, each with the bytes of an object. Others pass at once.
	maxPaused = 32
	// worthSaying is the pause from which on a user is warned.
	worthSaying = 100 * time.Millisecond
)

// writePace lets the writes of a namespace that follow each other too fast wait for a while. It refuses none. The API server works
// on few requests of users at once, and a request that waits here has one of these seats: users who write without pause leave the
// processors of the API server to others. It divides seats between users by the time for which they have had one, so that others seldom wait for more
// than one pause.
type writePace struct {
	namespaces *pace.Pace
	paused     chan struct{}
}

func newWritePace() *writePace {
	return &writePace{pace.New(writesAtOnce, writesPerSecond), make(chan struct{}, maxPaused)}
}

// Handle allows a write, after a pause if the namespace writes too fast.
func (p *writePace) Handle(ctx context.Context, request admission.Request) admission.Response {
	d := p.pauseOf(request.Namespace, len(request.Object.Raw), time.Now())
	if d > 0 && !p.pause(ctx, d) {
		d = 0
	}
	if err := ctx.Err(); err != nil {
		return admission.Errored(http.StatusGatewayTimeout, err)
	}
	answer := admission.Allowed("")
	if d >= worthSaying {
		// Clients show equal warnings once.
		answer = answer.WithWarnings(fmt.Sprintf(
			"writes wait in namespace %s for up to %d ms each: %d objects of NoDrop may be written at once, and then %d per second, where each %d KiB of an object count as one",
			request.Namespace, longestPause.Milliseconds(), writesAtOnce, writesPerSecond, bytesOfAWrite>>10))
	}
	return answer
}

// pauseOf returns how long a write of an object of so many bytes has to wait. One that would have to wait for longer than
// longestPause waits for that time, and counts for less.
func (p *writePace) pauseOf(namespace string, bytes int, now time.Time) time.Duration {
	limiter := p.namespaces.Of(namespace)
	count := min(1+bytes/bytesOfAWrite, writesAtOnce)
	left := max(0, int(limiter.TokensAt(now)+writesPerSecond*longestPause.Seconds()))
	if count > left {
		limiter.ReserveN(now, left)
		return longestPause
	}
	return min(limiter.ReserveN(now, count).DelayFrom(now), longestPause)
}

// pause waits, and reports whether it did: not if too many wait.
func (p *writePace) pause(ctx context.Context, d time.Duration) bool {
	select {
	case p.paused <- struct{}{}:
		defer func() { <-p.paused }()
	default:
		return false
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return true
}
