package main

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/golang/snappy"
)

func TestTheTextIsCompressibleAndAlwaysTheSame(t *testing.T) {
	const frame, frames = 8 << 10, 256
	text, again := make([]byte, frame*frames), make([]byte, frame*frames)
	io.ReadFull(newTunnelText(7), text)
	io.ReadFull(newTunnelText(7), again)
	if !bytes.Equal(text, again) {
		t.Error("the same seed gives another text")
	}
	compressed := 0
	for i := range frames {
		compressed += len(snappy.Encode(nil, text[i*frame:(i+1)*frame]))
	}
	if ratio := float64(len(text)) / float64(compressed); ratio < 1.5 || ratio > 3 {
		t.Errorf("%.2f times smaller", ratio)
	}
}

func TestAllConnectionsReceiveWhatIsSent(t *testing.T) {
	for _, upload := range []bool{false, true} {
		load := newTestLoad(t, 3, upload)
		if err := load.connect(load.target()); err != nil {
			t.Fatal(err)
		}
		// More than the text, which is sent again then.
		awaitCounts(t, load, 2*int64(len(load.text)))
		if err := load.failure(); err != nil {
			t.Error(err)
		}
		load.close()
		if err := load.failure(); err != nil {
			t.Errorf("after the end: %v", err)
		}
	}
}

func TestWrongBytesAreAFailure(t *testing.T) {
	load := newTestLoad(t, 1, false)
	defer load.close()
	if err := load.connect(corruptingProxy(t, load.target())); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-load.failures:
		if !strings.Contains(err.Error(), "wrong bytes") {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("nothing was noticed")
	}
}

func TestAnIdleConnectionIsAnError(t *testing.T) {
	before := []int64{5, 5}
	if total, err := receivedSince(before, []int64{6, 8}); total != 4 || err != nil {
		t.Errorf("%d, %v", total, err)
	}
	if _, err := receivedSince(before, []int64{6, 5}); err == nil {
		t.Error("no error")
	}
}

func newTestLoad(t *testing.T, connections int, upload bool) *tunnelLoad {
	text := make([]byte, 1<<20)
	io.ReadFull(newTunnelText(0), text)
	load, err := newTunnelLoad(text, connections, upload)
	if err != nil {
		t.Fatal(err)
	}
	return load
}

func awaitCounts(t *testing.T, load *tunnelLoad, least int64) {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		missing := 0
		for _, count := range load.counts() {
			if count < least {
				missing++
			}
		}
		if missing == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%v", load.counts())
		}
	}
}

// corruptingProxy forwards one connection, and changes a byte on the way back.
func corruptingProxy(t *testing.T, target string) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		defer client.Close()
		server, err := net.Dial("tcp", target)
		if err != nil {
			return
		}
		defer server.Close()
		go io.Copy(server, client)
		io.CopyN(client, server, 100_000)
		var one [1]byte
		io.ReadFull(server, one[:])
		client.Write([]byte{one[0] ^ 1})
		io.Copy(client, server)
	}()
	return listener.Addr().String()
}
