//go:build linux

package server

// PID is the id of the server's process, or of what was one once it has ended.
func (s *Server) PID() int { return s.process.Pid }
