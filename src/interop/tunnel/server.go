package tunnel

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"

	"github.com/kcp4j/kcp4j/interop/cli"
	"github.com/xtaci/kcp-go/v5"
	"github.com/xtaci/smux"
)

// Server runs a command that opens TCP connections.
func Server(flags *flag.FlagSet, args []string) error {
	s := server{relay: relay{settings: newSettings(1024, 1024, 30)}}
	address := flags.String("listen", ":29900", "`address` to accept sessions on")
	flags.StringVar(&s.target, "target", "127.0.0.1:12948", "`address` to connect to")
	s.flags(flags)
	if err := errors.Join(cli.Parse(flags, args), s.check()); err != nil {
		return err
	}
	s.exitWithReport()
	return s.session.Serve(*address, 0, s.accept)
}

type server struct {
	relay
	target string
}

func (s *server) accept(conn *kcp.UDPSession) {
	session, err := smux.Server(s.compress(conn), s.mux.Config())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	defer session.Close()
	for {
		stream, err := session.AcceptStream()
		if err != nil {
			return
		}
		go s.dial(stream)
	}
}

func (s *server) dial(stream *smux.Stream) {
	conn, err := net.Dial("tcp", s.target)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		stream.Close()
		return
	}
	s.connect(conn.(*net.TCPConn), stream)
}
