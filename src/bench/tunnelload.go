package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// textBytes is more than a tunnel buffers, so that no part of it finds its own copy.
const textBytes = 16 << 20

// A tunnelLoad sends text through the TCP connections of a tunnel, and compares what arrives with
// it. It is the TCP client before the tunnel and the TCP server behind it.
type tunnelLoad struct {
	upload   bool           // to the server
	text     []byte         // sent again and again
	received []atomic.Int64 // of each connection
	listener net.Listener
	failures chan error // the first one
	closing  atomic.Bool
	mu       sync.Mutex
	conns    []net.Conn
}

// newTunnelLoad starts the server.
func newTunnelLoad(text []byte, connections int, upload bool) (*tunnelLoad, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &tunnelLoad{
		upload: upload, text: text, received: make([]atomic.Int64, connections),
		listener: listener, failures: make(chan error, 1),
	}
	go l.serve()
	return l, nil
}

// target is where the tunnel has to connect to.
func (l *tunnelLoad) target() string {
	return l.listener.Addr().String()
}

func (l *tunnelLoad) serve() {
	for {
		conn, err := l.listener.Accept()
		if err != nil {
			l.fail(err)
			return
		}
		l.keep(conn)
		go func() { l.fail(l.answer(conn)) }()
	}
}

// answer learns from the first bytes which connection of the client this is.
func (l *tunnelLoad) answer(conn net.Conn) error {
	var header [4]byte
	if _, err := io.ReadFull(conn, header[:]); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	i := int(binary.BigEndian.Uint32(header[:]))
	if i >= len(l.received) {
		return fmt.Errorf("server: connection %d of %d", i, len(l.received))
	}
	if l.upload {
		return l.receive(conn, i)
	}
	return l.send(conn, i)
}

// connect opens all connections to a tunnel, and starts the traffic.
func (l *tunnelLoad) connect(address string) error {
	for i := range l.received {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		l.keep(conn)
		if _, err := conn.Write(binary.BigEndian.AppendUint32(nil, uint32(i))); err != nil {
			return err
		}
		go func() {
			if l.upload {
				l.fail(l.send(conn, i))
			} else {
				l.fail(l.receive(conn, i))
			}
		}()
	}
	return nil
}

// start is where the text of a connection begins. Each connection begins elsewhere.
func (l *tunnelLoad) start(i int) int {
	return i * (len(l.text) / len(l.received))
}

func (l *tunnelLoad) send(conn net.Conn, i int) error {
	for at := l.start(i); ; {
		n, err := conn.Write(l.text[at:min(at+chunkBytes, len(l.text))])
		if err != nil {
			return fmt.Errorf("sender of connection %d: %w", i, err)
		}
		at = (at + n) % len(l.text)
	}
}

func (l *tunnelLoad) receive(conn net.Conn, i int) error {
	chunk := make([]byte, chunkBytes)
	for at := l.start(i); ; {
		n, err := conn.Read(chunk[:min(chunkBytes, len(l.text)-at)])
		if err != nil {
			return fmt.Errorf("receiver of connection %d: %w", i, err)
		}
		if !bytes.Equal(chunk[:n], l.text[at:at+n]) {
			return fmt.Errorf("connection %d: wrong bytes after byte %d", i, l.received[i].Load())
		}
		l.received[i].Add(int64(n))
		at = (at + n) % len(l.text)
	}
}

// awaitAll waits until every connection has received something.
func (l *tunnelLoad) awaitAll(interrupt context.Context) error {
	const patience, pause = 30 * time.Second, 20 * time.Millisecond
	for end := time.Now().Add(patience); ; {
		err := cmp.Or(l.failure(), interrupt.Err())
		if err != nil {
			return err
		}
		if _, err = receivedSince(make([]int64, len(l.received)), l.counts()); err == nil {
			return nil
		}
		if time.Now().After(end) {
			return err
		}
		time.Sleep(pause)
	}
}

// counts returns what each connection has received.
func (l *tunnelLoad) counts() []int64 {
	counts := make([]int64, len(l.received))
	for i := range counts {
		counts[i] = l.received[i].Load()
	}
	return counts
}

// failure returns an error if a connection has failed.
func (l *tunnelLoad) failure() error {
	select {
	case err := <-l.failures:
		return err
	default:
		return nil
	}
}

func (l *tunnelLoad) fail(err error) {
	if l.closing.Load() {
		return
	}
	select {
	case l.failures <- err:
	default:
	}
}

func (l *tunnelLoad) keep(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing.Load() {
		conn.Close()
	}
	l.conns = append(l.conns, conn)
}

// close closes all connections.
func (l *tunnelLoad) close() {
	l.closing.Store(true)
	l.listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range l.conns {
		conn.Close()
	}
}

// receivedSince returns how much more all connections have received, and an error if one of them
// has received nothing.
func receivedSince(before, after []int64) (int64, error) {
	total, idle := int64(0), 0
	for i := range after {
		total += after[i] - before[i]
		if after[i] == before[i] {
			idle++
		}
	}
	if idle > 0 {
		return 0, fmt.Errorf("nothing arrived in %d of %d connections", idle, len(after))
	}
	return total, nil
}
