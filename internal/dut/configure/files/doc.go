// Package files configures devices by files, which a command of the owner makes effective.
package files
