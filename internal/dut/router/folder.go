//go:build linux

package router

import (
	"nodrop.dev/nodrop/internal/base/runfolder"
)

// Dir is the directory that contains the files of routers.
const Dir = runfolder.Dir

// folderPrefix begins the names of folders with the files of a router.
const folderPrefix = "router-"

// newFolder makes the folder of a router.
func newFolder(dir, kind string) (*runfolder.Folder, error) {
	return runfolder.New(dir, folderPrefix+kind+"-")
}

// Clean removes what processes that were killed have left of their routers in dir, and
// returns how many routers that were.
func Clean(dir string) (int, error) {
	return runfolder.Clean(dir, folderPrefix, func(path string) error { return leftLimit(path).remove() })
}
