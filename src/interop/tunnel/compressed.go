package tunnel

import (
	"net"

	"github.com/golang/snappy"
)

// A compressedConn is a connection in the stream format of Snappy. As in kcptun each write is a
// chunk, which is sent at once.
type compressedConn struct {
	net.Conn
	writer *snappy.Writer
	reader *snappy.Reader
}

func newCompressedConn(conn net.Conn) net.Conn {
	return &compressedConn{conn, snappy.NewBufferedWriter(conn), snappy.NewReader(conn)}
}

func (c *compressedConn) Read(p []byte) (int, error) {
	return c.reader.Read(p)
}

func (c *compressedConn) Write(p []byte) (int, error) {
	n, err := c.writer.Write(p)
	if err != nil {
		return n, err
	}
	return n, c.writer.Flush()
}
