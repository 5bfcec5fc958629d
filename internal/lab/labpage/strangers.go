package labpage

import (
	"crypto/sha256"
	"errors"
	"net"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/authenticator"
)

const (
	// strangersAtOnce and strangersPerSecond bound the tokens of one address that were not accepted before.
	strangersAtOnce, strangersPerSecond = 32, 1
	// acquainted is the time for which a token counts as accepted before. It needs its review again after a minute,
	// but does not count against the bound of its address. maxAcquainted tokens are remembered.
	acquainted    = time.Hour
	maxAcquainted = 10_000
)

// errStrangers means that too many unknown tokens came from an address.
var errStrangers = errors.New("too many unknown tokens came from this address")

// strangers bounds what each address can ask the API server by sending unknown tokens. Many users may have the
// address of one proxy: those whose tokens were accepted before are not kept out by others.
type strangers struct {
	next authenticator.Request
	// accepted contains digests of tokens.
	accepted  *cache.LRUExpireCache
	addresses *paced
}

func newStrangers(next authenticator.Request) *strangers {
	return &strangers{next, cache.NewLRUExpireCache(maxAcquainted), newPaced(strangersAtOnce, strangersPerSecond)}
}

// AuthenticateRequest identifies the user of a request. The error is errStrangers if the token is new and its address
// has sent too many.
func (s *strangers) AuthenticateRequest(r *http.Request) (*authenticator.Response, bool, error) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return s.next.AuthenticateRequest(r)
	}
	token := sha256.Sum256([]byte(header))
	if _, before := s.accepted.Get(token); !before && !s.addresses.allows(r.Context(), addressOf(r)) {
		return nil, false, errStrangers
	}
	answer, known, err := s.next.AuthenticateRequest(r)
	if known && err == nil {
		s.accepted.Add(token, nil, acquainted)
	}
	return answer, known, err
}

// addressOf returns the address from which a request came, without its port.
func addressOf(r *http.Request) string {
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return address
}
