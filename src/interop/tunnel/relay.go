package tunnel

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kcp4j/kcp4j/interop/cli"
	"github.com/kcp4j/kcp4j/interop/kcpgo"
	"github.com/xtaci/smux"
)

// copyBytes is the buffer of kcptun for what Go cannot copy without one.
const copyBytes = 4096

// A relay copies between TCP connections and streams, at either end of a tunnel.
type relay struct {
	settings
	streams, in, out atomic.Int64
}

type relayResult struct {
	Streams int64 `json:"streams"`
	In      int64 `json:"bytes_in"`  // from streams to TCP, of directions that have ended
	Out     int64 `json:"bytes_out"` // from TCP to streams, the same
	kcpgo.Counters
}

func (r *relay) report() any {
	return relayResult{r.streams.Load(), r.in.Load(), r.out.Load(), kcpgo.CountersNow()}
}

// exitWithReport makes the process end when it is told to.
func (r *relay) exitWithReport() {
	cli.ExitOnTermination(r.report)
	if r.untilEOF {
		cli.ExitOnEOF(r.report)
	}
}

type writeCloser interface {
	io.Writer
	CloseWrite() error
}

// connect returns when both directions have ended.
func (r *relay) connect(conn *net.TCPConn, stream *smux.Stream) {
	r.streams.Add(1)
	closeBoth := sync.OnceFunc(func() {
		conn.Close()
		stream.Close()
	})
	defer closeBoth()
	var directions sync.WaitGroup
	forward := func(to writeCloser, from io.Reader, count *atomic.Int64) {
		defer directions.Done()
		n, err := io.CopyBuffer(to, from, make([]byte, copyBytes))
		count.Add(n)
		hasEnded := err == nil || errors.Is(err, io.EOF) // smux reports the latter
		if r.halfClose && hasEnded && to.CloseWrite() == nil {
			return
		}
		time.Sleep(r.closeDelay())
		closeBoth()
	}
	directions.Add(2)
	go forward(conn, stream, &r.in)
	go forward(stream, conn, &r.out)
	directions.Wait()
}
