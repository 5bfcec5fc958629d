package labpage

import (
	"crypto/sha256"
	"errors"
	"net"
	"net/http"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/authenticator"
)

const (
	// strangersAtOnce and strangersPerSecond bound the tokens of one address that were not accepted before:
	// so many at once, and so many per second after that.
	strangersAtOnce    = 32
	strangersPerSecond = 1
	// acquainted is the time for which a token counts as accepted before. It needs its review again after a minute,
	// but does not count against the bound of its address.
	acquainted = time.Hour
	// maxAcquainted is the number of tokens, and of addresses, that are remembered.
	maxAcquainted = 10_000
)

// errStrangers means that too many unknown tokens came from an address.
var errStrangers = errors.New("too many unknown tokens came from this address")

// strangers bounds what each address can ask the API server by sending unknown tokens. Many users may have the
// address of one proxy: those whose tokens were accepted before are not kept out by others.
type strangers struct {
	next authenticator.Request
	// accepted contains digests of tokens, and addresses the limiter of each address.
	accepted, addresses *cache.LRUExpireCache
}

func newStrangers(next authenticator.Request) *strangers {
	return &strangers{next: next, accepted: cache.NewLRUExpireCache(maxAcquainted), addresses: cache.NewLRUExpireCache(maxAcquainted)}
}

// AuthenticateRequest identifies the user of a request. The error is errStrangers if the token is new and its address
// has sent too many.
func (s *strangers) AuthenticateRequest(r *http.Request) (*authenticator.Response, bool, error) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return s.next.AuthenticateRequest(r)
	}
	token := sha256.Sum256([]byte(header))
	if _, before := s.accepted.Get(token); !before && !s.allows(r.RemoteAddr) {
		return nil, false, errStrangers
	}
	answer, known, err := s.next.AuthenticateRequest(r)
	if known && err == nil {
		s.accepted.Add(token, nil, acquainted)
	}
	return answer, known, err
}

// allows reports whether an address may send one more token that was not accepted before.
func (s *strangers) allows(remote string) bool {
	address, _, err := net.SplitHostPort(remote)
	if err != nil {
		address = remote
	}
	limiter, known := s.addresses.Get(address)
	if !known {
		limiter = rate.NewLimiter(strangersPerSecond, strangersAtOnce)
	}
	s.addresses.Add(address, limiter, acquainted)
	return limiter.(*rate.Limiter).Allow()
}
