package labpage

import (
	stdlog "log"
	"strings"

	"github.com/go-logr/logr"
)

// newErrorLog passes what a server says of connections on, such as a handshake that
// failed. That is the client's doing mostly, and no error.
func newErrorLog(log logr.Logger) *stdlog.Logger { return stdlog.New(quiet{log}, "", 0) }

type quiet struct{ log logr.Logger }

func (q quiet) Write(text []byte) (int, error) {
	q.log.V(1).Info("A connection failed", "said", strings.TrimSpace(string(text)))
	return len(text), nil
}
