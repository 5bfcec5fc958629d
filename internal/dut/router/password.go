package router

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"nodrop.dev/nodrop/internal/routing"
)

// maxPassword is the maximum length of a TCP MD5 password on Linux, in bytes.
const maxPassword = 80

// unwritable reports whether a character of a password cannot be in a configuration.
func unwritable(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }

// ReadPassword is the password in a file or in a key of a Secret: its text without a line
// break at the end. It fails as CheckPassword does.
func ReadPassword(text []byte) (routing.Secret, error) {
	p := routing.Secret(bytes.TrimRight(text, "\r\n"))
	return p, CheckPassword(p)
}

// CheckPassword returns an error if a password cannot be used for TCP MD5 with a device that
// NoDrop configures. The error does not contain the password.
func CheckPassword(p routing.Secret) error {
	switch {
	case p == "":
		return fmt.Errorf("the password is empty: give 1 to %d characters", maxPassword)
	case len(p) > maxPassword:
		return fmt.Errorf("the password has %d bytes: give at most %d", len(p), maxPassword)
	case strings.ContainsFunc(string(p), unwritable):
		return errors.New("the password has a character that configurations do not hold: give visible ASCII without quotation mark and backslash")
	}
	return nil
}
