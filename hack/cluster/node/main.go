package main

import (
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	const usage = "usage: node up | down | load FILE... | check-clean"
	if len(args) == 0 {
		return fmt.Errorf("%s", usage)
	}
	c, err := newCluster(os.Getenv("NODROP_CACHE"), os.Getenv("NODROP_STATE"))
	if err != nil {
		return err
	}
	switch args[0] {
	case "up":
		return c.up()
	case "init":
		return c.init()
	case "down":
		return c.down()
	case "load":
		return c.load(args[1:])
	case "check-clean":
		return c.checkClean()
	}
	return fmt.Errorf("unknown command %q\n%s", args[0], usage)
}
