package tunnel

import (
	"bytes"
	"io"
	"net"
	"testing"

	"github.com/golang/snappy"
)

// A recordingConn keeps what is written to it.
type recordingConn struct {
	net.Conn
	bytes.Buffer
}

func (c *recordingConn) Read(p []byte) (int, error)  { return c.Buffer.Read(p) }
func (c *recordingConn) Write(p []byte) (int, error) { return c.Buffer.Write(p) }

func TestEachWriteIsAChunkThatIsSentAtOnce(t *testing.T) {
	const streamIdentifierBytes, compressedChunk = 10, 0
	recorded := &recordingConn{}
	conn := newCompressedConn(recorded)
	text := bytes.Repeat([]byte("text "), 1000)
	chunks := [][]byte{}
	for range 3 {
		if n, err := conn.Write(text); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
		chunks = append(chunks, bytes.Clone(recorded.Next(recorded.Len())))
	}
	if len(chunks[0]) != streamIdentifierBytes+len(chunks[1]) {
		t.Errorf("%d bytes, then %d", len(chunks[0]), len(chunks[1]))
	}
	for _, chunk := range chunks[1:] {
		length := int(chunk[1]) | int(chunk[2])<<8 | int(chunk[3])<<16
		if chunk[0] != compressedChunk || len(chunk) != 4+length {
			t.Errorf("%d bytes, of which the header is %v", len(chunk), chunk[:4])
		}
	}
	received, err := io.ReadAll(snappy.NewReader(bytes.NewReader(bytes.Join(chunks, nil))))
	if !bytes.Equal(received, bytes.Repeat(text, 3)) || err != nil {
		t.Errorf("%d bytes, %v", len(received), err)
	}
}

func TestWhatIsWrittenCanBeRead(t *testing.T) {
	conn := newCompressedConn(&recordingConn{})
	conn.Write([]byte("a"))
	conn.Write([]byte("b"))
	received := make([]byte, 2)
	if _, err := io.ReadFull(conn, received); string(received) != "ab" || err != nil {
		t.Errorf("%q, %v", received, err)
	}
}
