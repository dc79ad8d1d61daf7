package tunnel

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"

	"github.com/kcp4j/kcp4j/interop/cli"
	"github.com/xtaci/smux"
)

// Client runs a command that accepts TCP connections.
func Client(flags *flag.FlagSet, args []string) error {
	c := client{relay: relay{settings: newSettings(128, 512, 0)}}
	local := flags.String("localaddr", ":12948", "`address` to accept TCP connections on")
	flags.StringVar(&c.remote, "remoteaddr", "vps:29900", "`address` of the server")
	count := flags.Int("conn", 1, "`sessions` of KCP, which connections use in turn")
	c.flags(flags)
	if err := errors.Join(cli.Parse(flags, args), c.check()); err != nil {
		return err
	}
	if *count < 1 {
		return cli.UsageErrorf("--conn %d: expected at least 1", *count)
	}
	c.sessions = make([]*smux.Session, *count)
	c.exitWithReport()
	listener, err := net.Listen("tcp", *local)
	if err != nil {
		return err
	}
	fmt.Printf("listening %v\n", listener.Addr())
	return c.accept(listener)
}

type client struct {
	relay
	remote   string
	sessions []*smux.Session // nil until they are needed
}

func (c *client) accept(listener net.Listener) error {
	for next := 0; ; next = (next + 1) % len(c.sessions) {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		session, err := c.sessionFor(next)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			conn.Close()
			continue
		}
		go c.open(conn.(*net.TCPConn), session)
	}
}

// sessionFor begins a session in place of one that has ended.
func (c *client) sessionFor(i int) (*smux.Session, error) {
	if s := c.sessions[i]; s != nil && !s.IsClosed() {
		return s, nil
	}
	conn, err := c.settings.session.Dial(c.remote)
	if err != nil {
		return nil, err
	}
	c.sessions[i], err = smux.Client(c.compress(conn), c.mux.Config())
	return c.sessions[i], err
}

func (c *client) open(conn *net.TCPConn, session *smux.Session) {
	stream, err := session.OpenStream()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		conn.Close()
		return
	}
	c.connect(conn, stream)
}
