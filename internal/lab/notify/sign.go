package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	secretPrefix = "whsec_"
	// minKey and maxKey are the lengths of keys that Standard Webhooks allows, in bytes.
	minKey, maxKey = 24, 64
	// maxKeys bounds how many signatures an event has.
	maxKeys = 4
)

// Key signs events. Its value is shown nowhere.
type Key struct{ secret []byte }

// String does not show the key.
func (Key) String() string { return "[secret]" }

// ReadKeys reads the keys of a Secret: whsec_ and base64, with spaces between several. Errors
// do not contain the value.
func ReadKeys(value []byte) ([]Key, error) {
	words := strings.Fields(string(value))
	if len(words) == 0 {
		return nil, errors.New("the value is empty: give whsec_ and base64 of 24 to 64 random bytes")
	}
	if len(words) > maxKeys {
		return nil, fmt.Errorf("the value has %d keys: give at most %d", len(words), maxKeys)
	}
	var keys []Key
	for i, word := range words {
		text, found := strings.CutPrefix(word, secretPrefix)
		secret, err := base64.StdEncoding.DecodeString(text)
		if !found || err != nil {
			return nil, fmt.Errorf("key %d is not whsec_ and base64: make one with: echo whsec_$(openssl rand -base64 32)", i+1)
		}
		if len(secret) < minKey || len(secret) > maxKey {
			return nil, fmt.Errorf("key %d has %d bytes: give %d to %d", i+1, len(secret), minKey, maxKey)
		}
		keys = append(keys, Key{secret})
	}
	return keys, nil
}

// signature is the value of the header webhook-signature: v1 and base64 of the HMAC-SHA256 of
// identifier, time and body, for each key.
func signature(keys []Key, id string, at time.Time, body []byte) string {
	var all []string
	for _, k := range keys {
		mac := hmac.New(sha256.New, k.secret)
		mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
		mac.Write(body)
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(all, " ")
}
