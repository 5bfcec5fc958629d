// Package fakenos starts fakenos, an SSH server that emulates the prompts and messages of other vendors, for tests of drivers. The folder
// nos has its tables of commands, which keep a configuration.
package fakenos
