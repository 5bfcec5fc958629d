package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// page serves the lab page of the cluster on 127.0.0.1 of the machine, prints its address, and ends with the cluster. The
// command of the page runs in the node, whose network the machine does not reach: connections are passed on.
func (c *cluster) page() error {
	r, err := c.state.readRecord()
	if err != nil {
		return err
	}
	if r == nil || !r.Init.running() {
		return errors.New("the cluster is not up; \"make cluster-up\" starts it")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return err
	}
	show := c.inNode("kubectl", "nodrop", "page", "--port", port)
	show.Stderr = os.Stderr
	address, err := show.StdoutPipe()
	if err != nil {
		return err
	}
	if err := show.Start(); err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	go func() {
		defer cancel()
		line, _ := bufio.NewReader(address).ReadString('\n')
		fmt.Print(line)
		_ = show.Wait()
	}()
	to := net.JoinHostPort("127.0.0.1", port)
	for {
		from, err := listener.Accept()
		if err != nil {
			return fmt.Errorf("the page has ended: %w", err)
		}
		go forward(from, func() (net.Conn, error) { return dialIn(r.Init.PID, to) })
	}
}

// forward passes everything on between a connection and another one that it makes, until both sides have ended.
func forward(from net.Conn, dial func() (net.Conn, error)) {
	defer from.Close()
	to, err := dial()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	defer to.Close()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{from, to}, {to, from}} {
		both.Go(func() {
			_, _ = io.Copy(way[1], way[0])
			_ = way[1].(*net.TCPConn).CloseWrite()
		})
	}
	both.Wait()
}

// dialIn connects to an address in the network namespace of a process. The thread that has entered the namespace ends with the
// goroutine.
func dialIn(pid int, address string) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread()
		conn, err := dialHere(pid, address)
		done <- result{conn, err}
	}()
	r := <-done
	return r.conn, r.err
}

// dialHere moves the thread into the network namespace of a process and connects. net.Dial may use other threads.
func dialHere(pid int, address string) (net.Conn, error) {
	namespace, err := os.Open("/proc/" + strconv.Itoa(pid) + "/ns/net")
	if err != nil {
		return nil, err
	}
	defer namespace.Close()
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("entering the node's network: %w", err)
	}
	host, port, _ := strings.Cut(address, ":")
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(socket), address)
	defer file.Close()
	if err := unix.Connect(socket, &unix.SockaddrInet4{Port: number, Addr: [4]byte(net.ParseIP(host).To4())}); err != nil {
		return nil, fmt.Errorf("connecting to the page: %w", err)
	}
	return net.FileConn(file)
}
